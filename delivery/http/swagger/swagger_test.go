package swagger

import (
	"bytes"
	"compress/gzip"
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"net/url"
	"path"
	"regexp"
	"runtime"
	"strconv"
	"strings"
	"testing"

	"github.com/gin-gonic/gin"
	"github.com/google/go-cmp/cmp"

	rest "example.com/petstore/delivery/http"
	"example.com/petstore/docs"
)

const wantPolicy = "default-src 'none'; script-src 'self'; style-src 'self' 'unsafe-inline'; img-src 'self' data:; " +
	"connect-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'"

func TestEveryFileIsServedWithItsTypeAndHeadersAndCompressed(t *testing.T) {
	t.Parallel()
	engine := newEngine(t, "")
	for path, contentType := range map[string]string{
		"/swagger/index.html":               "text/html; charset=utf-8",
		"/swagger/index.html?x=/index.html": "text/html; charset=utf-8",
		"/swagger/index.css":                "text/css; charset=utf-8",
		"/swagger/swagger-ui.css":           "text/css; charset=utf-8",
		"/swagger/swagger-initializer.js":   "text/javascript; charset=utf-8",
		"/swagger/swagger-ui-bundle.js":     "text/javascript; charset=utf-8",
		"/swagger/favicon-16x16.png":        "image/png",
		"/swagger/favicon-32x32.png":        "image/png",
		"/openapi.json":                     "application/json",
		"/openapi.yaml":                     "application/yaml",
	} {
		plain, compressed := get(t, engine, path), get(t, engine, path, "Accept-Encoding: gzip")
		if plain.Code != http.StatusOK || plain.Body.Len() == 0 {
			t.Errorf("%s: got %d, %d bytes, want 200 and a body", path, plain.Code, plain.Body.Len())
		}
		for name, want := range map[string]string{
			"Content-Type": contentType, "Content-Security-Policy": wantPolicy, "X-Content-Type-Options": "nosniff", "Referrer-Policy": "no-referrer",
			"Cache-Control": "no-cache",
		} {
			if got := plain.Header().Get(name); got != want {
				t.Errorf("%s: got %s %q, want %q", path, name, got, want)
			}
		}
		for encoding, got := range map[string]*httptest.ResponseRecorder{"identity": plain, "gzip": compressed} {
			if length := got.Header().Get("Content-Length"); length != strconv.Itoa(got.Body.Len()) {
				t.Errorf("%s as %s: got Content-Length %s, want %d", path, encoding, length, got.Body.Len())
			}
			head := send(t, engine, http.MethodHead, path, "Accept-Encoding: "+encoding)
			if diff := cmp.Diff(got.Header(), head.Header()); diff != "" || head.Body.Len() > 0 {
				t.Errorf("%s as %s: got %d bytes; header (-GET +HEAD):\n%s", path, encoding, head.Body.Len(), diff)
			}
		}
		want, content, compressible := plain.Header().Clone(), compressed.Body.Bytes(), contentType != "image/png"
		if compressible {
			want.Set("Vary", "Accept-Encoding")
			want.Set("Content-Encoding", "gzip")
			want.Set("Content-Length", strconv.Itoa(len(content)))
			want.Set("ETag", strings.TrimSuffix(want.Get("ETag"), `"`)+`-gzip"`)
			reader, err := gzip.NewReader(compressed.Body)
			if err != nil {
				t.Fatal(err)
			}
			content, err = io.ReadAll(reader)
			if err != nil {
				t.Error(err)
			}
		}
		if diff := cmp.Diff(want, compressed.Header()); diff != "" || (plain.Header().Get("Vary") != "") != compressible {
			t.Errorf("%s: got Vary %q without gzip; header with gzip (-want +got):\n%s", path, plain.Header()["Vary"], diff)
		}
		if !bytes.Equal(content, plain.Body.Bytes()) {
			t.Errorf("%s: the contents differ", path)
		}
	}
}

func TestMountReturnsErrors(t *testing.T) {
	t.Parallel()
	for _, test := range []struct{ route, group, api string }{
		{"/shop/openapi.json", "/shop", "/v1"},
		{"/shop/openapi.yaml", "/shop", "/v1"},
		{"/shop/swagger/index.html", "/shop", "/v1"},
		{"/shop/*any", "/shop", "/v1"},
		{"/other", "/docs", ""}, // the service has no address
		{"/other", "/docs", "/teams/:team/v1"},
	} {
		engine := gin.New()
		engine.GET(test.route, func(*gin.Context) {})
		if err := Mount(engine.Group(test.group), service(test.api)); err == nil {
			t.Errorf("%+v: Mount returned no error", test)
		}
	}
}

// gin-swagger has no option for the title of the host and these additions, which replace parts of its page. The package browser in the folder
// test shows that the page has no script that its policy forbids, but loads no icon and follows no link.
func TestPageHasItsAdditions(t *testing.T) {
	t.Parallel()
	engine := newEngine(t, "")
	page := get(t, engine, "/swagger/index.html").Body.String()
	for _, reference := range regexp.MustCompile(`(?:src|href)="([^"]+)"`).FindAllStringSubmatch(page, -1) {
		if got := get(t, engine, path.Join("/swagger", reference[1])); got.Code != http.StatusOK {
			t.Errorf("%s: got %d, want 200", reference[1], got.Code)
		}
	}
	for _, want := range []string{"<title>Animals of /v1&lt;b&gt;</title>", `<meta name="viewport"`, "<noscript>", "Loading the documentation"} {
		if !strings.Contains(page, want) || strings.Contains(page, "standalone-preset") {
			t.Errorf("the page lacks %s, or has standalone-preset", want)
		}
	}
	script := get(t, engine, "/swagger/swagger-initializer.js").Body.String()
	for _, want := range []string{`"../openapi.json"`, "persistAuthorization: true"} {
		if !strings.Contains(script, want) {
			t.Errorf("swagger-initializer.js lacks %s", want)
		}
	}
}

func TestUnknownFileCallsNotFound(t *testing.T) {
	t.Parallel()
	engine := newEngine(t, "")
	for _, path := range []string{
		"/swagger/x/index.html", "/swagger/../", "/swagger/../openapi.json", "/swagger//index.html", "/swagger/index.html/",
		"/swagger/doc.json", "/swagger/oauth2-redirect.html", "/swagger/swagger-ui.css.map", "/swagger/INDEX.HTML", "/swagger/%2e%2e/",
	} {
		got := get(t, engine, path)
		if got.Code != http.StatusNotFound || !strings.Contains(got.Body.String(), `"not_found"`) {
			t.Errorf("%s: got %d %s, want that of the API", path, got.Code, got.Body)
		}
	}
}

func TestRedirectsAreRelative(t *testing.T) {
	t.Parallel()
	engine := newEngine(t, "/shop")
	for path, want := range map[string]string{
		"/shop/": "swagger/index.html", "/shop/docs": "swagger/index.html",
		"/shop/swagger": "swagger/index.html", "/shop/swagger/": "index.html",
	} {
		got := get(t, engine, path)
		if got.Code != http.StatusFound || got.Header().Get("Location") != want {
			t.Errorf("%s: got %d to %q, want 302 to %q", path, got.Code, got.Header().Get("Location"), want)
		}
	}
}

type service string

func (s service) BasePath() string { return string(s) }
func (s service) Document() docs.Options {
	return docs.Options{Title: "Animals of " + string(s) + "<b>"}
}

func TestDocumentHasAddressOfService(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct{ api, docs, url, want string }{
		{"/v1", "/", "", "http://host.example/v1"},
		{"/", "/", "", "http://host.example/"},
		{"/", "/docs", "/docs", "http://host.example/"},
		{"/shop/v1", "/shop/docs", "/shop/docs", "http://host.example/shop/v1"},
		{"/shop/v1", "/shop", "/shop", "http://host.example/shop/v1"},
		{"/shop/v1", "/shop/v1", "/shop/v1", "http://host.example/shop/v1"},
		{"/shop/a b{c}", "/docs", "/docs", "http://host.example/shop/a%20b%7Bc%7D"},
		{"/:shop", "/:shop", "/a", "http://host.example/a/"},
		{"/shop/v1", "/docs", "/docs", "http://host.example/shop/v1"},
		{"/shop/v1", "/", "", "http://host.example/shop/v1"},
		{"/teams/:team/v1", "/teams/:team/docs", "/teams/a/docs", "http://host.example/teams/a/v1"},
	} {
		engine := gin.New()
		if err := Mount(engine.Group(tc.docs), service(tc.api)); err != nil {
			t.Fatal(err)
		}
		requested, _ := url.Parse("http://host.example" + tc.url + "/openapi.json")
		var got struct {
			Info    struct{ Title string }
			Servers []struct{ URL string }
		}
		if err := json.Unmarshal(get(t, engine, requested.String()).Body.Bytes(), &got); err != nil {
			t.Fatal(err)
		}
		server, err := requested.Parse(got.Servers[0].URL)
		if err != nil || server.String() != tc.want || got.Info.Title != "Animals of "+tc.api+"<b>" {
			t.Errorf("the API at %s and the document at %s: got %+v, want %s", tc.api, tc.docs, got, tc.want)
		}
	}
}

func newEngine(t *testing.T, prefix string) *gin.Engine {
	t.Helper()
	engine := gin.New()
	engine.NoRoute(rest.NotFound)
	engine.RedirectTrailingSlash = false
	group := engine.Group(prefix)
	if err := Mount(group, service("/v1")); err != nil {
		t.Fatal(err)
	}
	RedirectRoot(group)
	return engine
}

// get requests a path with headers such as "Accept-Encoding: gzip".
func get(t *testing.T, engine *gin.Engine, path string, headers ...string) *httptest.ResponseRecorder {
	t.Helper()
	return send(t, engine, http.MethodGet, path, headers...)
}

func send(t *testing.T, engine *gin.Engine, method, path string, headers ...string) *httptest.ResponseRecorder {
	t.Helper()
	request := httptest.NewRequestWithContext(t.Context(), method, path, http.NoBody)
	for _, header := range headers {
		name, value, _ := strings.Cut(header, ": ")
		request.Header.Add(name, value)
	}
	response := httptest.NewRecorder()
	engine.ServeHTTP(response, request)
	return response
}

func TestAcceptEncodingSelectsGzip(t *testing.T) {
	t.Parallel()
	engine := newEngine(t, "")
	for want, accepted := range map[string][]string{
		"gzip": {
			"gzip", "gzip, deflate, br", "br, deflate, gzip", "br\x00, gzip", "gzip;q=1.0", "GZIP ; Q=0.001", "br, gzip;q=0.5", "*", "br;q=1,*;q=0.1",
			"deflate, gzip;q=1.0, *;q=0.5", "identity;q=0.5, gzip;q=0.5", "identity;q=0, gzip;q=0.1", "*;q=0, gzip",
		},
		"": {
			"", "identity", "br, deflate", "gzip;q=0", "gzip; q=0.000, *", `;;, "x", q, ,`, "*;q=0", "identity, *;q=0", "identity;q=1, gzip;q=0.5", "identity, *;q=0.5",
			"gzip;q=nan", "gzip;q=-1",
		},
	} {
		for _, accept := range accepted {
			if got := get(t, engine, "/openapi.json", "Accept-Encoding: "+accept).Header().Get("Content-Encoding"); got != want {
				t.Errorf("Accept-Encoding %q: got %q, want %q", accept, got, want)
			}
		}
	}
}

func TestConditionAndRangeAreThoseOfTheEncodedFile(t *testing.T) {
	t.Parallel()
	engine := newEngine(t, "")
	for encoding, other := range map[string]string{"Accept-Encoding: identity": "Accept-Encoding: gzip", "Accept-Encoding: gzip": "Accept-Encoding: identity"} {
		full, part := get(t, engine, "/openapi.json", encoding), get(t, engine, "/openapi.json", encoding, "Range: bytes=10-19")
		if part.Code != http.StatusPartialContent || part.Body.String() != full.Body.String()[10:20] || part.Header().Get("Content-Length") != "10" {
			t.Errorf("%s: got %d %q, want bytes 10 to 19", encoding, part.Code, part.Body)
		}
		want, condition := full.Header(), "If-None-Match: "+full.Header().Get("ETag")
		for _, name := range []string{"Accept-Ranges", "Content-Encoding", "Content-Length", "Content-Type"} {
			want.Del(name)
		}
		got := get(t, engine, "/openapi.json", encoding, condition)
		if diff := cmp.Diff(want, got.Header()); got.Code != http.StatusNotModified || got.Body.Len() != 0 || diff != "" {
			t.Errorf("%s: got %d with %d bytes, want 304 without body; header (-want +got)\n%s", encoding, got.Code, got.Body.Len(), diff)
		}
		if got := get(t, engine, "/openapi.json", other, condition); got.Code != http.StatusOK {
			t.Errorf("%s: got %d for the ETag of the other encoding, want 200", other, got.Code)
		}
	}
}

// Not parallel: it counts the allocations of the process. A gzip writer allocates 800 kB. What
// a request allocates is in memory for as long as its client does not read the response: the buffer
// of io.Copy, of 32 KiB.
func TestResponsesAreSentFromSharedMemory(t *testing.T) {
	engine := newEngine(t, "")
	for _, path := range []string{"/openapi.json", "/swagger/index.html", "/swagger/swagger-ui-bundle.js"} {
		for _, encoding := range []string{"identity", "gzip"} {
			request := func() {
				r := httptest.NewRequestWithContext(t.Context(), http.MethodGet, path, http.NoBody)
				r.Header.Set("Accept-Encoding", encoding)
				w := httptest.NewRecorder()
				w.Body = nil
				engine.ServeHTTP(w, r)
			}
			request()
			const requests = 10
			var before, after runtime.MemStats
			runtime.ReadMemStats(&before)
			for range requests {
				request()
			}
			runtime.ReadMemStats(&after)
			if got := (after.TotalAlloc - before.TotalAlloc) / requests; got > 45_000 {
				t.Errorf("%s as %s: a request allocates %d bytes", path, encoding, got)
			}
		}
	}
}
