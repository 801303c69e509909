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
	Check(t, err)
	doc, err := openapi3.NewLoader().LoadFromData([]byte(text))
	Check(t, err)
	address, err := url.Parse(s.URL + "/openapi.json")
	Check(t, err)
	for _, server := range doc.Servers {
		for name, variable := range server.Variables {
			server.URL = strings.ReplaceAll(server.URL, "{"+name+"}", variable.Default)
		}
		resolved, err := address.Parse(server.URL)
		Check(t, err)
		server.URL, server.Variables = resolved.String(), nil
	}
	return doc
}
