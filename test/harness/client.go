package harness

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/getkin/kin-openapi/openapi3"

	"example.com/petstore/internal/test/testkit"
)

// Client sends single requests. Its timeout ends a test whose server does not respond.
var Client = &http.Client{Timeout: time.Minute}

// Request returns a request with the API key of the server and a JSON body. headers are alternating names
// and values.
func (s *Server) Request(ctx context.Context, method, path, body string, headers ...string) (*http.Request, error) {
	request, err := http.NewRequestWithContext(ctx, method, s.URL+path, strings.NewReader(body))
	if err != nil {
		return nil, err
	}
	request.Header.Set("Authorization", "Bearer "+s.Key)
	request.Header.Set("Content-Type", "application/json")
	for i := 0; i < len(headers); i += 2 {
		request.Header.Set(headers[i], headers[i+1])
	}
	return request, nil
}

// Do sends a request and returns the status and the body of the response.
func (s *Server) Do(ctx context.Context, method, path, body string, headers ...string) (int, string, error) {
	request, err := s.Request(ctx, method, path, body, headers...)
	if err != nil {
		return 0, "", err
	}
	return Send(Client, request)
}

// Post adds a pet and returns the status and the body of the response.
func (s *Server) Post(ctx context.Context, body string, headers ...string) (int, string, error) {
	return s.Do(ctx, http.MethodPost, "/v1/pets", body, headers...)
}

// AddPet adds a pet. It fails the test if that fails.
func (s *Server) AddPet(t testing.TB, name string) {
	t.Helper()
	if status, body, err := s.Post(t.Context(), PetBody(name)); err != nil || status != http.StatusCreated {
		t.Fatal(status, body, err)
	}
}

// PetBody returns the body of a request that adds a pet.
func PetBody(name string) string { return fmt.Sprintf(`{"name":%q,"categoryId":1}`, name) }

// WantStatus sends a GET and expects a status. headers are additional headers, as for Request.
func (s *Server) WantStatus(t testing.TB, path string, want int, headers ...string) {
	t.Helper()
	if status, body, err := s.Do(t.Context(), http.MethodGet, path, "", headers...); err != nil || status != want {
		t.Errorf("GET %s: got %d %s %v, want %d", path, status, body, err, want)
	}
}

// MaxKeyAge is how long a process may accept a key that was revoked (docs/reliability.md).
const MaxKeyAge = 400 * time.Millisecond

// WantRejected sends requests with a key that was revoked, or has expired, before a time, until the server rejects the key.
// Requests that are sent more than MaxKeyAge after that time must be rejected.
func (s *Server) WantRejected(t testing.TB, key string, revoked time.Time) {
	t.Helper()
	for {
		late := time.Since(revoked) - MaxKeyAge
		status, body, err := s.Do(t.Context(), http.MethodGet, "/v1/pets", "", "Authorization", "Bearer "+key)
		switch {
		case err == nil && status == http.StatusUnauthorized && strings.Contains(body, `"invalid_api_key"`):
			return
		case err != nil || status != http.StatusOK:
			t.Fatal(status, body, err)
		case late > 0:
			t.Errorf("the key is accepted %v after %v", late, MaxKeyAge)
			return
		}
	}
}

// IsReady reports whether /readyz returns 200.
func (s *Server) IsReady(ctx context.Context) bool {
	status, _, err := s.Do(ctx, http.MethodGet, "/readyz", "")
	return err == nil && status == http.StatusOK
}

// Get sends a GET without an API key.
func Get(t testing.TB, url string) (status int, body string) {
	t.Helper()
	request, err := http.NewRequestWithContext(t.Context(), http.MethodGet, url, http.NoBody)
	testkit.Check(t, err)
	status, body, err = Send(Client, request)
	testkit.Check(t, err)
	return status, body
}

// Send sends a request and returns the status and the body of the response.
func Send(client *http.Client, request *http.Request) (status int, body string, err error) {
	response, err := client.Do(request)
	if err != nil {
		return 0, "", err
	}
	defer response.Body.Close()
	text, err := io.ReadAll(response.Body)
	return response.StatusCode, string(text), err
}

// Document requests the OpenAPI document. It resolves the URLs of its servers, which may be relative to the
// URL of the document. headers are alternating names and values.
func (s *Server) Document(t testing.TB, headers ...string) *openapi3.T {
	t.Helper()
	_, text, err := s.Do(t.Context(), http.MethodGet, "/openapi.json", "", headers...)
	testkit.Check(t, err)
	doc, err := openapi3.NewLoader().LoadFromData([]byte(text))
	testkit.Check(t, err)
	address, err := url.Parse(s.URL + "/openapi.json")
	testkit.Check(t, err)
	for _, server := range doc.Servers {
		for name, variable := range server.Variables {
			server.URL = strings.ReplaceAll(server.URL, "{"+name+"}", variable.Default)
		}
		resolved, err := address.Parse(server.URL)
		testkit.Check(t, err)
		server.URL, server.Variables = resolved.String(), nil
	}
	return doc
}
