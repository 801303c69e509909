package harness

import (
	"net/http"
	"testing"

	"github.com/getkin/kin-openapi/openapi3"
)

// Document requests the OpenAPI document. headers are alternating names and values.
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
	return doc
}
