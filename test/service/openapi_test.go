package service

import (
	"strings"
	"testing"

	"example.com/petstore/test/harness"

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
			s := harness.Start(t, t.TempDir(), args...)
			doc := s.Document(t, "X-Forwarded-Proto", "https", "X-Forwarded-Host", "shop.example:8443")
			var got []string
			for _, server := range doc.Servers {
				got = append(got, strings.Replace(defaultURL(server), s.URL, "URL", 1))
			}
			if diff := cmp.Diff(test.want, got); diff != "" {
				t.Errorf("servers (-want +got):\n%s", diff)
			}
		})
	}
}

// defaultURL returns the URL of a server with the defaults of its variables.
func defaultURL(server *openapi3.Server) string {
	url := server.URL
	for name, variable := range server.Variables {
		url = strings.ReplaceAll(url, "{"+name+"}", variable.Default)
	}
	return url
}
