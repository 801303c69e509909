package swagger_test

import (
	"net/http"
	"net/http/httptest"
	"regexp"
	"strings"
	"sync"
	"testing"

	"github.com/gin-gonic/gin"

	"example.com/petstore/delivery/http/swagger"
)

const document = `{"openapi":"3.0.3","info":{"title":"Shop <of> pets"}}`

const policy = "default-src 'none'; script-src 'self'; style-src 'self' 'unsafe-inline'; img-src 'self' data:; " +
	"connect-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'"

func TestEveryFileIsServedWithItsTypeAndHeaders(t *testing.T) {
	t.Parallel()
	engine := newEngine(t, "")
	for address, want := range map[string]string{
		"/swagger/index.html":                      "text/html; charset=utf-8",
		"/swagger/index.html?x=/index.html":        "text/html; charset=utf-8",
		"/swagger/index.css":                       "text/css; charset=utf-8",
		"/swagger/swagger-ui.css":                  "text/css; charset=utf-8",
		"/swagger/swagger-initializer.js":          "text/javascript; charset=utf-8",
		"/swagger/swagger-ui-bundle.js":            "text/javascript; charset=utf-8",
		"/swagger/swagger-ui-standalone-preset.js": "text/javascript; charset=utf-8",
		"/swagger/favicon-16x16.png":               "image/png",
		"/swagger/favicon-32x32.png":               "image/png",
		"/openapi.json":                            "application/json",
	} {
		got := get(t, engine, address)
		if got.Code != http.StatusOK || got.Header().Get("Content-Type") != want || got.Body.Len() == 0 {
			t.Errorf("%s: got %d, %q, %d bytes", address, got.Code, got.Header().Get("Content-Type"), got.Body.Len())
		}
		for name, want := range map[string]string{
			"Content-Security-Policy": policy,
			"X-Content-Type-Options":  "nosniff",
			"Referrer-Policy":         "no-referrer",
			"Cache-Control":           "no-cache",
		} {
			if got := got.Header().Get(name); got != want {
				t.Errorf("%s: %s is %q, want %q", address, name, got, want)
			}
		}
	}
}

func TestPageRefersOnlyToServedFiles(t *testing.T) {
	t.Parallel()
	engine := newEngine(t, "")
	page := get(t, engine, "/swagger/index.html").Body.String()
	if !strings.Contains(page, "<title>Shop &lt;of&gt; pets</title>") {
		t.Error("the page lacks the document's title")
	}
	for _, script := range regexp.MustCompile(`<script[^>]*>\s*[^<]*`).FindAllString(page, -1) {
		if !strings.Contains(script, "src=") || !strings.HasSuffix(strings.TrimSpace(script), ">") {
			t.Errorf("the policy forbids the inline script %s", script)
		}
	}
	references := regexp.MustCompile(`(?:src|href)="([^"]+)"`).FindAllStringSubmatch(page, -1)
	if len(references) < 6 {
		t.Errorf("found only %d references", len(references))
	}
	for _, reference := range references {
		address := "/swagger/" + strings.TrimPrefix(reference[1], "./")
		if got := get(t, engine, address); got.Code != http.StatusOK {
			t.Errorf("%s: got %d", address, got.Code)
		}
	}
	script := get(t, engine, "/swagger/swagger-initializer.js").Body.String()
	for _, want := range []string{`url: "../openapi.json"`, "persistAuthorization: true"} {
		if !strings.Contains(script, want) {
			t.Errorf("the initializer lacks %s", want)
		}
	}
}

func TestUnknownNamesAreTheHostsNotFound(t *testing.T) {
	t.Parallel()
	engine := newEngine(t, "")
	for _, address := range []string{
		"/swagger/x/index.html", "/swagger/../", "/swagger/../openapi.json", "/swagger//index.html", "/swagger/index.html/",
		"/swagger/doc.json", "/swagger/oauth2-redirect.html", "/swagger/swagger-ui.css.map", "/swagger/INDEX.HTML", "/swagger/%2e%2e/",
	} {
		got := get(t, engine, address)
		if got.Code != http.StatusNotFound || !strings.Contains(got.Body.String(), `"not_found"`) {
			t.Errorf("%s: got %d %s", address, got.Code, got.Body)
		}
	}
}

// gin-swagger alone takes its prefix from the first address and keeps it.
func TestOddFirstRequestSpoilsNothing(t *testing.T) {
	t.Parallel()
	for _, first := range []string{
		"/swagger/x/index.html", "/swagger/index.html?x=/index.html", "/swagger/../", "/swagger/", "/swagger/doc.json",
		"/swagger/swagger-ui.css?/index.css",
	} {
		engine := newEngine(t, "")
		get(t, engine, first)
		for _, name := range []string{"index.html", "swagger-ui.css", "swagger-ui-bundle.js"} {
			if got := get(t, engine, "/swagger/"+name); got.Code != http.StatusOK {
				t.Errorf("after %s: %s is %d", first, name, got.Code)
			}
		}
	}
}

func TestConcurrentFirstRequests(t *testing.T) {
	t.Parallel()
	engine := newEngine(t, "")
	var requests sync.WaitGroup
	for _, name := range []string{"index.html", "index.css", "swagger-initializer.js", "swagger-ui.css", "x/index.html", "../"} {
		for range 8 {
			requests.Go(func() { get(t, engine, "/swagger/"+name) })
		}
	}
	requests.Wait()
}

func TestTwoMountsInOneProcess(t *testing.T) {
	t.Parallel()
	engine := gin.New()
	for _, prefix := range []string{"/shop", "/other/shop"} {
		mount(t, engine.Group(prefix))
	}
	for _, address := range []string{
		"/shop/swagger/index.html", "/other/shop/swagger/swagger-ui.css", "/shop/swagger/swagger-ui.css",
		"/other/shop/swagger/index.html", "/other/shop/openapi.json",
	} {
		if got := get(t, engine, address); got.Code != http.StatusOK {
			t.Errorf("%s: got %d", address, got.Code)
		}
	}
}

func TestRedirectsAreRelative(t *testing.T) {
	t.Parallel()
	engine := newEngine(t, "/shop")
	for address, want := range map[string]string{"/shop/": "swagger/index.html", "/shop/swagger/": "index.html"} {
		got := get(t, engine, address)
		if got.Code != http.StatusFound || got.Header().Get("Location") != want {
			t.Errorf("%s: got %d to %q, want %q", address, got.Code, got.Header().Get("Location"), want)
		}
	}
}

func TestHeadHasTheHeadersOfGet(t *testing.T) {
	t.Parallel()
	server := httptest.NewServer(newEngine(t, ""))
	t.Cleanup(server.Close)
	for _, address := range []string{"/swagger/index.html", "/swagger/swagger-ui-bundle.js", "/openapi.json"} {
		get, head := headers(t, http.MethodGet, server.URL+address), headers(t, http.MethodHead, server.URL+address)
		for _, name := range []string{"Content-Type", "Content-Length", "ETag", "Content-Security-Policy"} {
			if got, want := head.Get(name), get.Get(name); got != want || got == "" {
				t.Errorf("%s: HEAD has %s %q, GET %q", address, name, got, want)
			}
		}
	}
}

func TestUnchangedFileIsNotSentAgain(t *testing.T) {
	t.Parallel()
	engine := newEngine(t, "")
	for _, address := range []string{"/openapi.json", "/swagger/swagger-ui-bundle.js"} {
		request := httptest.NewRequestWithContext(t.Context(), http.MethodGet, address, nil)
		request.Header.Set("If-None-Match", get(t, engine, address).Header().Get("ETag"))
		answer := httptest.NewRecorder()
		engine.ServeHTTP(answer, request)
		if answer.Code != http.StatusNotModified || answer.Body.Len() != 0 {
			t.Errorf("%s: got %d with %d bytes", address, answer.Code, answer.Body.Len())
		}
	}
}

func TestRegisterRefusesMissingOptions(t *testing.T) {
	t.Parallel()
	for name, o := range map[string]swagger.Options{
		"no document":     {NotFound: notFound},
		"broken document": {NotFound: notFound, Document: []byte("{")},
		"no NotFound":     {Document: []byte(document)},
	} {
		if err := swagger.Register(gin.New(), o); err == nil {
			t.Errorf("%s: got no error", name)
		}
	}
}

func newEngine(t *testing.T, prefix string) *gin.Engine {
	t.Helper()
	engine := gin.New()
	mount(t, engine.Group(prefix))
	return engine
}

func mount(t *testing.T, r gin.IRouter) {
	t.Helper()
	if err := swagger.Register(r, swagger.Options{Document: []byte(document), NotFound: notFound}); err != nil {
		t.Fatal(err)
	}
	swagger.RedirectRoot(r)
}

func notFound(c *gin.Context) {
	c.Data(http.StatusNotFound, "application/json", []byte(`{"code":"not_found","message":"nothing here","status":404}`))
}

func get(t *testing.T, engine *gin.Engine, address string) *httptest.ResponseRecorder {
	t.Helper()
	answer := httptest.NewRecorder()
	engine.ServeHTTP(answer, httptest.NewRequestWithContext(t.Context(), http.MethodGet, address, nil))
	return answer
}

func headers(t *testing.T, method, address string) http.Header {
	t.Helper()
	request, err := http.NewRequestWithContext(t.Context(), method, address, nil)
	if err != nil {
		t.Fatal(err)
	}
	answer, err := http.DefaultClient.Do(request)
	if err != nil {
		t.Fatal(err)
	}
	if err := answer.Body.Close(); err != nil || answer.StatusCode != http.StatusOK {
		t.Fatalf("%s %s: got %d, %v", method, address, answer.StatusCode, err)
	}
	return answer.Header
}

func TestRangesAndConditionsAreIgnored(t *testing.T) {
	t.Parallel()
	engine := newEngine(t, "")
	whole := get(t, engine, "/openapi.json").Body.String()
	for _, header := range []string{"Range: bytes=9999999-", "Range: bytes=abc", "Range: bytes=0-9", `If-Match: "x"`, "If-Unmodified-Since: Thu, 01 Jan 1970 00:00:00 GMT"} {
		name, value, _ := strings.Cut(header, ": ")
		request := httptest.NewRequestWithContext(t.Context(), http.MethodGet, "/openapi.json", http.NoBody)
		request.Header.Set(name, value)
		got := httptest.NewRecorder()
		engine.ServeHTTP(got, request)
		if got.Code != http.StatusOK || got.Body.String() != whole || got.Header().Get("Cache-Control") != "no-cache" {
			t.Errorf("%s: got %d with %d bytes and %v", header, got.Code, got.Body.Len(), got.Header())
		}
	}
}
