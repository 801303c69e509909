package http_test

import (
	"fmt"
	"net/http"
	"slices"
	"testing"

	"github.com/gin-gonic/gin"
	"github.com/google/go-cmp/cmp"

	rest "example.com/petstore/delivery/http"
	"example.com/petstore/domain"
	"example.com/petstore/usecase"
)

// mount opens a shop under a prefix of somebody else's engine.
func mount(t *testing.T, prefix string, options ...rest.Option) *testServer {
	t.Helper()
	s := newUnstartedServer(t)
	s.prefix = prefix
	engine := gin.New()
	engine.HandleMethodNotAllowed = true
	engine.GET("/hello", func(c *gin.Context) { c.String(http.StatusOK, "hello") })
	engine.NoRoute(rest.NotFound)
	api, group := s.api(t, defaultServices, options...), engine.Group(prefix)
	engine.NoMethod(api.DeprecationHeaders(group), rest.MethodNotAllowed)
	if err := api.Register(group); err != nil {
		t.Fatal(err)
	}
	s.listen(t, engine)
	return s
}

func TestReferencesAreRightUnderAnyPrefix(t *testing.T) {
	t.Parallel()
	for _, prefix := range []string{"", "/v1", "/shop/v1", "/a/b/c/d", "/pets"} {
		t.Run("prefix "+prefix, func(t *testing.T) {
			t.Parallel()
			s := mount(t, prefix)
			for id := 1; id <= 5; id++ {
				pet := fmt.Sprintf(`{"id":%d,"name":"Rex","categoryId":7}`, id)
				a := s.expect(t, request{method: "POST", path: prefix + "/pets", body: newRex}, created(pet))
				location, err := a.Location()
				if err != nil || location.Path != fmt.Sprintf("%s/pets/%d", prefix, id) {
					t.Fatalf("got the location %v, %v", location, err)
				}
				a = s.expect(t, get(location.Path), ok(pet))
				if successor := a.link(t, "successor-version"); successor != prefix+"/pets" {
					t.Errorf("got the successor %q", successor)
				}
			}
			seen := slices.Concat(s.walk(t, prefix+"/pets?limit=2")...)
			if diff := cmp.Diff([]int64{1, 2, 3, 4, 5}, seen); diff != "" {
				t.Errorf("ids (-want +got):\n%s", diff)
			}
		})
	}
}

// A host whose engine tells encoded slashes from others may have some in its own part
// of the path, which ours must not refuse.
func TestHostMayHaveEncodedSlashesInItsPrefix(t *testing.T) {
	t.Parallel()
	s := newUnstartedServer(t)
	engine := gin.New()
	engine.UseRawPath = true
	if err := s.api(t, defaultServices).Register(engine.Group("/teams/:team")); err != nil {
		t.Fatal(err)
	}
	s.prefix = "/teams/a%2Fb"
	s.listen(t, engine)
	s.expect(t, get("/teams/a%2Fb/pets"), ok(`[]`))
}

func TestMountedAPITouchesNothingOutsideItsGroup(t *testing.T) {
	t.Parallel()
	s := mount(t, "/shop/v1")
	a, err := s.send(t.Context(), get("/hello"))
	if err != nil {
		t.Fatal(err)
	}
	a.check(t, want{status: 200, header: []string{"-X-Request-Id", "-Cache-Control", "-X-Content-Type-Options"}})
	if string(a.body) != "hello" || len(s.log.All()) != 0 {
		t.Errorf("got %q and the log %v", a.body, s.log.All())
	}
	for _, r := range []request{get("/shop/v1/nothing"), get("/livez"), send("DELETE", "/shop/v1/pets"), get("/v1/pets")} {
		a, err := s.send(t.Context(), r)
		if err != nil {
			t.Fatal(err)
		}
		a.checkBody(t)
		a.check(t, want{never: []string{"hello"}})
	}
}

func TestHostMayNameTheCallers(t *testing.T) {
	t.Parallel()
	s := mount(t, "/v1", rest.WithAuthenticator(func(c *gin.Context) (string, error) {
		if user, _, here := c.Request.BasicAuth(); here {
			return user, nil
		}
		c.Header("WWW-Authenticate", `Basic realm="team"`)
		return "", domain.MissingAPIKey()
	}))
	s.challenge = `Basic realm="team"`
	const ann, bob = "Authorization: Basic YW5uOng=", "Authorization: Basic Ym9iOng="
	s.expect(t, post(newRex), refused(401, "missing_api_key"))
	s.expect(t, post(newRex, "Idempotency-Key: one", ann), created(`{"id":1,"name":"Rex","categoryId":7}`).with(first))
	s.expect(t, post(newRex, "Idempotency-Key: one", bob), created(`{"id":2,"name":"Rex","categoryId":7}`).with(first))
	s.expect(t, post(newRex, "Idempotency-Key: one", ann), created(`{"id":1,"name":"Rex","categoryId":7}`).with(again))
	if lines := s.accessLog(t); lines[len(lines)-1]["key_id"] != "ann" {
		t.Errorf("got the access log %v", lines)
	}
}

func TestAuthenticatorReadsTheHostsContextAndForbids(t *testing.T) {
	t.Parallel()
	s := newUnstartedServer(t)
	engine := gin.New()
	engine.Use(func(c *gin.Context) { c.Set("user", c.GetHeader("From")) })
	api := s.api(t, defaultServices, rest.WithAuthenticator(func(c *gin.Context) (string, error) {
		if user := c.GetString("user"); user != "guest" {
			return user, nil
		}
		return "", fmt.Errorf("authenticate: %w", domain.Forbidden("guests must stay outside"))
	}))
	if err := api.Register(engine.Group("/v1")); err != nil {
		t.Fatal(err)
	}
	s.listen(t, engine)
	for _, r := range operations(t) {
		s.expect(t, send(r.method, r.path, "From: guest"), refused(403, "forbidden", "guests must stay outside").without("authenticate"))
	}
	s.expect(t, get("/v1/pets", "From: ann"), ok(`[]`))
	lines := s.accessLog(t)
	if last := lines[len(lines)-1]; last["key_id"] != "ann" {
		t.Errorf("got the access log %v", last)
	}
}

func TestUnauthorizedByHostCarriesOnlyTheChallengeThatItSets(t *testing.T) {
	t.Parallel()
	for code, err := range map[string]error{
		"missing_api_key": domain.MissingAPIKey(),
		"invalid_api_key": domain.InvalidAPIKey(),
	} {
		for header, challenge := range map[string]string{"-WWW-Authenticate": "", `WWW-Authenticate: Basic realm="team"`: `Basic realm="team"`} {
			s := newTestServer(t, rest.WithAuthenticator(func(c *gin.Context) (string, error) {
				if challenge != "" {
					c.Header("WWW-Authenticate", challenge)
				}
				return "", err
			}))
			s.ask(t, get("/v1/nothing"), refused(404, "not_found").with("-WWW-Authenticate"))
			a, err := s.send(t.Context(), get("/v1/pets"))
			if err != nil {
				t.Fatal(err)
			}
			a.check(t, refused(401, code).with(header))
		}
	}
}

func TestAPIWantsItsUseCases(t *testing.T) {
	t.Parallel()
	s := newUnstartedServer(t)
	pets := usecase.NewPets(s.store, s.store.Pets(), s.clock.now)
	orders := usecase.NewOrders(s.store, s.store.Orders(), s.clock.now)
	anybody := rest.WithAuthenticator(func(*gin.Context) (string, error) { return "anybody", nil })
	for rule, tt := range map[string]struct {
		services rest.Services
		options  []rest.Option
		works    bool
	}{
		"none":                 {rest.Services{}, nil, false},
		"no pets":              {rest.Services{Orders: orders, Keys: s.keys}, nil, false},
		"no orders":            {rest.Services{Pets: pets, Keys: s.keys}, nil, false},
		"no keys":              {rest.Services{Pets: pets, Orders: orders}, nil, false},
		"authenticator":        {rest.Services{Pets: pets, Orders: orders}, []rest.Option{anybody}, true},
		"all, without options": {rest.Services{Pets: pets, Orders: orders, Keys: s.keys}, nil, true},
	} {
		if api, err := rest.New(tt.services, tt.options...); (err == nil) != tt.works || (api != nil) != tt.works {
			t.Errorf("%s: got the API %v and the error %v", rule, api, err)
		}
	}
}
