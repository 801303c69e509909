package harness

import (
	"net/http"
	"net/url"
	"strings"
	"testing"

	"github.com/getkin/kin-openapi/openapi3"
)

// Document requests the OpenAPI document, and resolves the URLs of its servers, which may be
// relative to its own. headers are alternating names and values.
func (s *Server) Document(t testing.TB, headers ...string) *openapi3.T {
	t.Helper()
	_, text, err := s.Do(t.Context(), http.MethodGet, "/openapi.json", "", headers...)
	if err != nil {
		t.Fatal(err)
	}
	doc, err := openapi3.NewLoader().LoadFromData([]byte(text))
	if err != nil {
		t.Fatal(err)
	}
	address, err := url.Parse(s.URL + "/openapi.json")
	if err != nil {
		t.Fatal(err)
	}
	for _, server := range doc.Servers {
		for name, variable := range server.Variables {
			server.URL = strings.ReplaceAll(server.URL, "{"+name+"}", variable.Default)
		}
		resolved, err := address.Parse(server.URL)
		if err != nil {
			t.Fatal(err)
		}
		server.URL, server.Variables = resolved.String(), nil
	}
	return doc
}
