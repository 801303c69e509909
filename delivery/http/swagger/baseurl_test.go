package swagger

import (
	"crypto/tls"
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/gin-gonic/gin"
)

// baseURLOf requests the document and returns the base URL that Options.Document received.
func baseURLOf(t *testing.T, engine *gin.Engine, path string, modify func(*http.Request)) string {
	t.Helper()
	request := httptest.NewRequestWithContext(t.Context(), http.MethodGet, path, http.NoBody)
	request.Host, request.RemoteAddr = "pets.example:8080", "10.0.0.1:1234"
	modify(request)
	response := httptest.NewRecorder()
	engine.ServeHTTP(response, request)
	var d struct{ Info struct{ Title string } }
	if err := json.Unmarshal(response.Body.Bytes(), &d); err != nil {
		t.Fatalf("got %d %s: %v", response.Code, response.Body, err)
	}
	return d.Info.Title
}

func TestDocumentReceivesBaseURLOfRequest(t *testing.T) {
	t.Parallel()
	unmodified := func(*http.Request) {}
	for prefix, path := range map[string]string{"": "", "/shop": "/shop", "/a/b": "/a/b", "/teams/:team": "/teams/a%22b"} {
		if got, want := baseURLOf(t, newEngine(t, prefix), path+"/openapi.json", unmodified), "http://pets.example:8080"+path; got != want {
			t.Errorf("prefix %q: got %q, want %q", prefix, got, want)
		}
	}
	withTLS := func(r *http.Request) { r.TLS = &tls.ConnectionState{} }
	if got := baseURLOf(t, newEngine(t, ""), "/openapi.json", withTLS); got != "https://pets.example:8080" {
		t.Errorf("TLS: got %q, want https://pets.example:8080", got)
	}
}

func TestInvalidHostIsNotUsed(t *testing.T) {
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

func TestForwardedHeadersAreUsedOnlyFromTrustedProxies(t *testing.T) {
	t.Parallel()
	const direct, forwarded = "http://pets.example:8080", "https://shop.example"
	both := http.Header{"X-Forwarded-Proto": {"https"}, "X-Forwarded-Host": {"shop.example"}}
	for name, tc := range map[string]struct {
		proxies []string
		client  string
		header  http.Header
		want    string
	}{
		"no trusted proxy":  {nil, "10.0.0.1:1", both, direct},
		"an address":        {[]string{"10.0.0.1"}, "10.0.0.1:1", both, forwarded},
		"a network":         {[]string{"192.0.2.1", "10.0.0.0/8"}, "10.0.0.1:1", both, forwarded},
		"an IPv6 network":   {[]string{"2001:db8::/32"}, "[2001:db8::1]:1", both, forwarded},
		"a mapped address":  {[]string{"10.0.0.0/8"}, "[::ffff:10.0.0.1]:1", both, forwarded},
		"another client":    {[]string{"10.0.0.2"}, "10.0.0.1:1", both, direct},
		"an invalid client": {[]string{"10.0.0.0/8"}, "@", both, direct},
		"the scheme only": {
			[]string{"10.0.0.1"}, "10.0.0.1:1", http.Header{"X-Forwarded-Proto": {"https"}}, "https://pets.example:8080",
		},
		"invalid values": {
			[]string{"10.0.0.1"}, "10.0.0.1:1", http.Header{"X-Forwarded-Proto": {"javascript"}, "X-Forwarded-Host": {`shop"`}}, direct,
		},
		"several values": {
			[]string{"10.0.0.1"}, "10.0.0.1:1", http.Header{"X-Forwarded-Proto": {"https", "http"}, "X-Forwarded-Host": {"evil.example, shop.example"}}, direct,
		},
	} {
		got := baseURLOf(t, newEngine(t, "", tc.proxies...), "/openapi.json", func(r *http.Request) {
			r.RemoteAddr, r.Header = tc.client, tc.header
		})
		if got != tc.want {
			t.Errorf("%s: got %q, want %q", name, got, tc.want)
		}
	}
}

func TestDocumentCachesVaryByOrigin(t *testing.T) {
	t.Parallel()
	engine := newEngine(t, "")
	one, other := get(t, engine, "http://one.example/openapi.json"), get(t, engine, "http://other.example/openapi.json")
	if etag := one.Header().Get("ETag"); etag == other.Header().Get("ETag") {
		t.Errorf("got ETag %s for both documents, want different ones", etag)
	}
	if got := one.Header().Get("Vary"); got != "Accept-Encoding" {
		t.Errorf("no proxy: got Vary %q, want Accept-Encoding", got)
	}
	proxied := newEngine(t, "", "10.0.0.1")
	for path, want := range map[string]string{
		"/openapi.json":           "X-Forwarded-Proto, X-Forwarded-Host, Accept-Encoding",
		"/swagger/swagger-ui.css": "Accept-Encoding",
	} {
		if got := strings.Join(get(t, proxied, path).Header().Values("Vary"), ", "); got != want {
			t.Errorf("%s with a trusted proxy: got Vary %q, want %q", path, got, want)
		}
	}
}
