package swagger_test

import (
	"crypto/tls"
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/gin-gonic/gin"
)

// baseURLOf requests the document and returns the base URL that it was made for.
func baseURLOf(t *testing.T, engine *gin.Engine, path string, change func(*http.Request)) string {
	t.Helper()
	request := httptest.NewRequestWithContext(t.Context(), http.MethodGet, path, http.NoBody)
	request.Host, request.RemoteAddr = "pets.example:8080", "10.0.0.1:1234"
	change(request)
	response := httptest.NewRecorder()
	engine.ServeHTTP(response, request)
	var d struct{ Info struct{ Title string } }
	if err := json.Unmarshal(response.Body.Bytes(), &d); err != nil {
		t.Fatalf("%d %s: %v", response.Code, response.Body, err)
	}
	return d.Info.Title
}

func TestDocumentIsMadeForTheURLItIsRequestedFrom(t *testing.T) {
	t.Parallel()
	asSent := func(*http.Request) {}
	for prefix, path := range map[string]string{"": "", "/shop": "/shop", "/a/b": "/a/b", "/teams/:team": "/teams/a%22b"} {
		if got, want := baseURLOf(t, newEngine(t, prefix), path+"/openapi.json", asSent), "http://pets.example:8080"+path; got != want {
			t.Errorf("under %q: got %q, want %q", prefix, got, want)
		}
	}
	withTLS := func(r *http.Request) { r.TLS = &tls.ConnectionState{} }
	if got := baseURLOf(t, newEngine(t, ""), "/openapi.json", withTLS); got != "https://pets.example:8080" {
		t.Errorf("with TLS: got %q", got)
	}
}

func TestHostIsReflectedOnlyWhenValid(t *testing.T) {
	t.Parallel()
	engine := newEngine(t, "")
	for host, valid := range map[string]bool{
		"pets.example": true, "PETS.example.": true, "127.0.0.1:8080": true, "[::1]": true, "[2001:db8::1]:443": true, "my_shop-1:80": true,
		"": false, "pets.example:": false, ":8080": false, "pets.example:123456": false, "pets..example": false, ".": false,
		`pets"example`: false, "pets.example/x": false, "pets.example?x": false, "pets.example#x": false, "user@pets.example": false,
		"pets.example\r\nX: y": false, "pets example": false, "pets.example,evil.example": false, "<b>": false, "{base_url}": false,
		"[::1": false, "[x]": false, "пример.example": false, strings.Repeat("a.", 200): false,
	} {
		want := ""
		if valid {
			want = "http://" + host
		}
		if got := baseURLOf(t, engine, "/openapi.json", func(r *http.Request) { r.Host = host }); got != want {
			t.Errorf("Host %q: got %q, want %q", host, got, want)
		}
	}
}

func TestForwardedHeadersAreBelievedFromTrustedProxiesOnly(t *testing.T) {
	t.Parallel()
	const own, public = "http://pets.example:8080", "https://shop.example"
	both := http.Header{"X-Forwarded-Proto": {"https"}, "X-Forwarded-Host": {"shop.example"}}
	for name, test := range map[string]struct {
		proxies []string
		client  string
		header  http.Header
		want    string
	}{
		"no proxy":            {nil, "10.0.0.1:1", both, own},
		"an address":          {[]string{"10.0.0.1"}, "10.0.0.1:1", both, public},
		"a network":           {[]string{"192.0.2.1", "10.0.0.0/8"}, "10.0.0.1:1", both, public},
		"an IPv6 network":     {[]string{"2001:db8::/32"}, "[2001:db8::1]:1", both, public},
		"a mapped address":    {[]string{"10.0.0.0/8"}, "[::ffff:10.0.0.1]:1", both, public},
		"another client":      {[]string{"10.0.0.2"}, "10.0.0.1:1", both, own},
		"a client of no kind": {[]string{"10.0.0.0/8"}, "@", both, own},
		"the scheme alone": {
			[]string{"10.0.0.1"}, "10.0.0.1:1", http.Header{"X-Forwarded-Proto": {"https"}}, "https://pets.example:8080",
		},
		"bad values": {
			[]string{"10.0.0.1"}, "10.0.0.1:1", http.Header{"X-Forwarded-Proto": {"javascript"}, "X-Forwarded-Host": {`shop"`}}, own,
		},
		"several values": {
			[]string{"10.0.0.1"}, "10.0.0.1:1", http.Header{"X-Forwarded-Proto": {"https", "http"}, "X-Forwarded-Host": {"evil.example, shop.example"}}, own,
		},
	} {
		got := baseURLOf(t, newEngine(t, "", test.proxies...), "/openapi.json", func(r *http.Request) {
			r.RemoteAddr, r.Header = test.client, test.header
		})
		if got != test.want {
			t.Errorf("%s: got %q, want %q", name, got, test.want)
		}
	}
}

func TestCachesKeepTheDocumentsOfOriginsApart(t *testing.T) {
	t.Parallel()
	engine := newEngine(t, "")
	one, other := get(t, engine, "http://one.example/openapi.json"), get(t, engine, "http://other.example/openapi.json")
	if etag := one.Header().Get("ETag"); etag == other.Header().Get("ETag") {
		t.Errorf("both documents have the ETag %s", etag)
	}
	if got := one.Header().Get("Vary"); got != "Accept-Encoding" {
		t.Errorf("without a proxy Vary is %q", got)
	}
	behind := newEngine(t, "", "10.0.0.1")
	for address, want := range map[string]string{
		"/openapi.json":           "X-Forwarded-Proto, X-Forwarded-Host, Accept-Encoding",
		"/swagger/swagger-ui.css": "Accept-Encoding",
	} {
		if got := strings.Join(get(t, behind, address).Header().Values("Vary"), ", "); got != want {
			t.Errorf("%s behind a proxy: Vary is %q, want %q", address, got, want)
		}
	}
}
