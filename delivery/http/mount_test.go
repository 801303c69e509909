package http_test

import (
	"fmt"
	"slices"
	"testing"

	"github.com/gin-gonic/gin"
	"github.com/google/go-cmp/cmp"

	rest "example.com/petstore/delivery/http"
)

// newMountedServer returns a server whose API is mounted under a prefix of a host's engine.
func newMountedServer(t *testing.T, prefix string, options ...rest.Option) *testServer {
	t.Helper()
	s := newUnstartedServer(t)
	s.prefix = prefix
	engine := gin.New()
	engine.HandleMethodNotAllowed = true
	engine.GET("/hello", hello)
	engine.NoRoute(rest.NotFound)
	api, group := s.api(t, defaultServices, options...), engine.Group(prefix)
	engine.NoMethod(api.DeprecationHeaders(group), rest.MethodNotAllowed)
	if err := api.Register(group); err != nil {
		t.Fatal(err)
	}
	s.start(t, engine)
	return s
}

func TestLinksResolveUnderAnyPrefix(t *testing.T) {
	t.Parallel()
	for _, prefix := range []string{"", "/v1", "/shop/v1", "/a/b/c/d", "/pets"} {
		t.Run("prefix "+prefix, func(t *testing.T) {
			t.Parallel()
			s := newMountedServer(t, prefix)
			for id := 1; id <= 5; id++ {
				pet := fmt.Sprintf(`{"id":%d,"name":"Rex","categoryId":7}`, id)
				res := s.expect(t, request{method: "POST", path: prefix + "/pets", body: newRex}, created(pet))
				location, err := res.Location()
				if err != nil || location.Path != fmt.Sprintf("%s/pets/%d", prefix, id) {
					t.Fatalf("got location %v and error %v, want %s/pets/%d", location, err, prefix, id)
				}
				res = s.expect(t, get(location.Path), ok(pet))
				if successor := res.link(t, "successor-version"); successor != prefix+"/pets" {
					t.Errorf("got successor %q, want %s/pets", successor, prefix)
				}
			}
			ids := slices.Concat(s.walkPages(t, prefix+"/pets?limit=2")...)
			if diff := cmp.Diff([]int64{1, 2, 3, 4, 5}, ids); diff != "" {
				t.Errorf("ids (-want +got):\n%s", diff)
			}
		})
	}
}

// With UseRawPath, an encoded slash in the prefix of the host is not one of the API's path.
func TestPrefixMayContainEncodedSlash(t *testing.T) {
	t.Parallel()
	s := newUnstartedServer(t)
	engine := gin.New()
	engine.UseRawPath = true
	if err := s.api(t, defaultServices).Register(engine.Group("/teams/:team")); err != nil {
		t.Fatal(err)
	}
	s.prefix = "/teams/a%2Fb"
	s.start(t, engine)
	s.expect(t, get("/teams/a%2Fb/pets"), ok(`[]`))
}

func TestMountedAPILeavesHostRoutesUnchanged(t *testing.T) {
	t.Parallel()
	s := newMountedServer(t, "/shop/v1")
	res, err := s.send(t.Context(), get("/hello"))
	if err != nil {
		t.Fatal(err)
	}
	res.check(t, wantResponse{status: 200}.withHeader("-X-Request-Id", "-Cache-Control", "-X-Content-Type-Options"))
	if string(res.body) != "hello" || len(s.log.All()) != 0 {
		t.Errorf("got body %q and log %v, want hello and no log", res.body, s.log.All())
	}
	for _, r := range []request{get("/shop/v1/nothing"), get("/livez"), newRequest("DELETE", "/shop/v1/pets"), get("/v1/pets")} {
		res, err := s.send(t.Context(), r)
		if err != nil {
			t.Fatal(err)
		}
		res.checkBody(t)
		res.check(t, wantResponse{}.withoutText("hello"))
	}
}
