package swagger

import (
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"testing"

	"github.com/gin-gonic/gin"

	rest "example.com/petstore/delivery/http"
	"example.com/petstore/docs"
)

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
		{api: "/v1", docs: "/", url: "", want: "http://host.example/v1"},
		{api: "/", docs: "/", url: "", want: "http://host.example/"},
		{api: "/", docs: "/docs", url: "/docs", want: "http://host.example/"},
		{api: "/shop/v1", docs: "/shop/docs", url: "/shop/docs", want: "http://host.example/shop/v1"},
		{api: "/shop/v1", docs: "/shop", url: "/shop", want: "http://host.example/shop/v1"},
		{api: "/shop/v1", docs: "/shop/v1", url: "/shop/v1", want: "http://host.example/shop/v1"},
		{api: "/shop/a b{c}", docs: "/docs", url: "/docs", want: "http://host.example/shop/a%20b%7Bc%7D"},
		{api: "/:shop", docs: "/:shop", url: "/a", want: "http://host.example/a/"},
		{api: "/shop/v1", docs: "/docs", url: "/docs", want: "http://host.example/shop/v1"},
		{api: "/shop/v1", docs: "/", url: "", want: "http://host.example/shop/v1"},
		{api: "/teams/:team/v1", docs: "/teams/:team/docs", url: "/teams/a/docs", want: "http://host.example/teams/a/v1"},
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

// get requests a path with headers such as "Range: bytes=10-19".
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
