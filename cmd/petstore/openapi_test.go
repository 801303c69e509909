package main

import (
	"net/http"
	"strings"
	"testing"

	"github.com/getkin/kin-openapi/openapi3"
	"github.com/google/go-cmp/cmp"
)

func TestOpenAPIServersAreURLsOfTheRequestOrTheSettings(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		settings []string
		want     []string // URL is replaced by the server's URL
	}{
		"no setting":    {nil, []string{"URL/v1"}},
		"a proxy":       {[]string{"server.trusted_proxies=127.0.0.1"}, []string{"https://shop.example:8443/v1"}},
		"another proxy": {[]string{"server.trusted_proxies=10.0.0.0/8"}, []string{"URL/v1"}},
		"a production URL": {
			[]string{"server.trusted_proxies=127.0.0.1", "server.production_url=https://pets.example/shop"},
			[]string{"https://pets.example/shop/v1"},
		},
		"a staging URL": {[]string{"server.staging_url=https://staging.example"}, []string{"URL/v1", "https://staging.example/v1"}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var args []string
			for _, setting := range test.settings {
				args = append(args, "--set", setting)
			}
			s := startServer(t, t.TempDir(), args...)
			doc := servedDocument(t, s, "X-Forwarded-Proto", "https", "X-Forwarded-Host", "shop.example:8443")
			var got []string
			for _, server := range doc.Servers {
				got = append(got, strings.Replace(defaultURL(server), s.url, "URL", 1))
			}
			if diff := cmp.Diff(test.want, got); diff != "" {
				t.Errorf("servers (-want +got):\n%s", diff)
			}
		})
	}
}

// servedDocument requests the OpenAPI document. headers are alternating names and values.
func servedDocument(t *testing.T, s *serverProcess, headers ...string) *openapi3.T {
	t.Helper()
	_, text, err := s.do(t.Context(), http.MethodGet, "/openapi.json", "", headers...)
	if err != nil {
		t.Fatal(err)
	}
	doc, err := openapi3.NewLoader().LoadFromData([]byte(text))
	if err != nil {
		t.Fatal(err)
	}
	return doc
}

// defaultURL returns the URL of a server with the defaults of its variables.
func defaultURL(server *openapi3.Server) string {
	url := server.URL
	for name, variable := range server.Variables {
		url = strings.ReplaceAll(url, "{"+name+"}", variable.Default)
	}
	return url
}
