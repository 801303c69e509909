package service

import (
	"bytes"
	"encoding/json"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/getkin/kin-openapi/openapi3"
	"github.com/google/go-cmp/cmp"

	"example.com/petstore/test/harness"
)

func TestOpenAPIServersAreThisServerAndThoseOfTheSettings(t *testing.T) {
	t.Parallel()
	s := harness.Start(t, t.TempDir(), "--set", "server.trusted_proxies=127.0.0.1",
		"--set", "server.production_url=https://pets.example/shop", "--set", "server.staging_url=https://staging.example")
	var got []string
	for _, server := range s.Document(t, "X-Forwarded-Proto", "https", "X-Forwarded-Host", "shop.example:8443").Servers {
		got = append(got, server.URL)
	}
	if diff := cmp.Diff([]string{"https://pets.example/shop/v1", s.URL + "/v1", "https://staging.example/v1"}, got); diff != "" {
		t.Errorf("servers (-want +got):\n%s", diff)
	}
}

// TestOpenAPIExamplesSucceedOnASeededStore sends the example request of every operation to
// the first server of the document, each with its own copy of a seeded store.
func TestOpenAPIExamplesSucceedOnASeededStore(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	harness.MustRun(t, dir, "seed")
	seeded, err := os.ReadFile(harness.StorePath(dir))
	harness.Check(t, err)
	operations := 0
	for path, item := range harness.Start(t, t.TempDir()).Document(t).Paths.Map() {
		for method := range item.Operations() {
			operations++
			t.Run(method+" "+path, func(t *testing.T) {
				t.Parallel()
				dir := t.TempDir()
				harness.Check(t, os.WriteFile(filepath.Join(dir, "petstore.db"), seeded, 0o600))
				s := harness.Start(t, dir)
				request := exampleRequest(t, s.Document(t), method, path)
				request.Header.Set("Authorization", "Bearer "+s.Key)
				response, err := harness.Client.Do(request)
				harness.Check(t, err)
				response.Body.Close()
				if response.StatusCode >= 300 {
					t.Errorf("%s: got %d, want less than 300", request.URL, response.StatusCode)
				}
			})
		}
	}
	if operations < 8 {
		t.Errorf("got %d operations, want at least 8", operations)
	}
}

// exampleRequest returns the request that Swagger UI sends if the user types nothing.
func exampleRequest(t *testing.T, doc *openapi3.T, method, path string) *http.Request {
	t.Helper()
	operation := doc.Paths.Value(path).GetOperation(method)
	for _, p := range operation.Parameters {
		if p.Value.In == openapi3.ParameterInPath {
			path = strings.ReplaceAll(path, "{"+p.Value.Name+"}", fmt.Sprint(p.Value.Example))
		}
	}
	body := []byte{}
	if operation.RequestBody != nil {
		fields := map[string]any{}
		for name, field := range operation.RequestBody.Value.Content["application/json"].Schema.Value.Properties {
			fields[name] = field.Value.Example
			if field.Value.Enum != nil {
				fields[name] = field.Value.Enum[0]
			}
		}
		var err error
		if body, err = json.Marshal(fields); err != nil {
			t.Fatal(err)
		}
	}
	request, err := http.NewRequestWithContext(t.Context(), method, doc.Servers[0].URL+path, bytes.NewReader(body))
	harness.Check(t, err)
	if len(body) > 0 {
		request.Header.Set("Content-Type", "application/json")
	}
	return request
}
