package http_test

import (
	"context"
	"net/http"
	"testing"
	"time"

	"github.com/gin-gonic/gin"

	rest "example.com/petstore/delivery/http"
	"example.com/petstore/domain"
)

// sunset is the published moment of getPet's removal.
var sunset = time.Date(2030, time.December, 5, 0, 0, 0, 0, time.UTC)

var announced = []string{
	"Deprecation: @1764892800",
	"Sunset: Thu, 05 Dec 2030 00:00:00 GMT",
	`Link: <../pets>; rel="successor-version"`,
}

func TestEveryAnswerOfTheDeprecatedRouteAnnouncesItsRemoval(t *testing.T) {
	t.Parallel()
	for when, now := range map[string]time.Time{"before": noon, "after": sunset.AddDate(1, 0, 0)} {
		s := newTestServer(t)
		s.stock(t, pets(1, "")...)
		s.clock.set(now)
		for _, path := range []string{"/v1/pets/1", "/v1/pets/2", "/v1/pets/none"} {
			for _, method := range []string{
				http.MethodGet, http.MethodHead, http.MethodOptions,
				http.MethodPost, http.MethodPut, http.MethodPatch, http.MethodDelete, http.MethodTrace, "BREW", // 405
			} {
				for _, header := range []string{"X-With: key", "-Authorization", "Authorization: Bearer wrong"} {
					t.Run(when+" "+method+" "+path+" "+header, func(t *testing.T) {
						t.Parallel()
						s.expect(t, send(method, path, header), want{}.with(announced...))
					})
				}
			}
		}
	}
}

func TestFailuresOfTheDeprecatedRouteAnnounceItsRemoval(t *testing.T) {
	t.Parallel()
	t.Run("store down", func(t *testing.T) {
		t.Parallel()
		s := newTestServer(t)
		s.exec(t, `DROP TABLE pets`)
		s.expect(t, get("/v1/pets/1"), want{status: 500}.with(announced...))
	})
	t.Run("forbidden", func(t *testing.T) {
		t.Parallel()
		s := refuseWith(t, domain.Forbidden("not you"))
		s.expect(t, get("/v1/pets/1"), want{status: 403}.with(announced...))
	})
	t.Run("over the limit", func(t *testing.T) {
		t.Parallel()
		s := newTestServer(t, rest.WithRateLimit(1, time.Minute))
		s.ask(t, get("/v1/pets/1"), want{status: 404}.with(announced...))
		s.ask(t, get("/v1/pets/1"), want{status: 429}.with(announced...))
	})
	t.Run("panic", func(t *testing.T) {
		t.Parallel()
		s := openShopWhere(t, func(context.Context, int64) (domain.Pet, error) { panic("the dog ate it") })
		s.expect(t, get("/v1/pets/1"), want{status: 500}.with(announced...))
	})
	t.Run("preflight", func(t *testing.T) {
		t.Parallel()
		s := newTestServer(t, rest.WithAllowedOrigins("https://shop.example.com"))
		s.expect(t, send("OPTIONS", "/v1/pets/1", "Origin: https://shop.example.com", "Access-Control-Request-Method: GET"), want{status: 204}.with(announced...))
	})
	t.Run("deadline passed", func(t *testing.T) {
		t.Parallel()
		s := newTestServerWith(t, slowKeys, rest.WithRequestTimeout(time.Millisecond))
		s.expect(t, get("/v1/pets/1"), want{status: 503}.with(announced...))
	})
}

func TestOtherRoutesAnnounceNoRemoval(t *testing.T) {
	t.Parallel()
	s := newTestServer(t)
	for _, path := range []string{"/v1/pets", "/v1/store/orders", "/livez", "/nowhere", "/pets/1", "/v1/pets/", "/v1/pets/1/"} {
		for _, method := range []string{http.MethodGet, http.MethodDelete} {
			s.expect(t, send(method, path), want{}.with("-Deprecation", "-Sunset", "-Link"))
		}
	}
}

func TestMethodNotAllowedOfMountedAPICarriesDeprecationHeaders(t *testing.T) {
	t.Parallel()
	moved := time.Date(2028, time.March, 1, 9, 30, 0, 0, time.FixedZone("", 2*60*60))
	header := []string{announced[0], "Sunset: Wed, 01 Mar 2028 07:30:00 GMT", announced[2], "Allow: GET, HEAD, OPTIONS"}
	for prefix, at := range map[string]string{
		"": "", "/shop/v1": "/shop/v1", "/teams/:team": "/teams/a", "/shop-:shop/v1": "/shop-a/v1", "/café": "/caf%C3%A9",
	} {
		t.Run("prefix "+prefix, func(t *testing.T) {
			t.Parallel()
			s := mount(t, prefix, rest.WithGetPetSunset(moved))
			for _, id := range []string{"1", "none", "a%20b"} {
				for _, method := range []string{http.MethodDelete, http.MethodPost, "BREW"} {
					s.ask(t, send(method, at+"/pets/"+id), refused(405, "method_not_allowed").with(header...))
				}
			}
			s.ask(t, send("DELETE", at+"/pets"), refused(405, "method_not_allowed").with("-Deprecation", "-Sunset", "-Link"))
			s.ask(t, send("DELETE", at+"/store/orders/1"), refused(405, "method_not_allowed").with("-Deprecation", "-Sunset", "-Link"))
		})
	}
}

// An engine with UseRawPath takes an encoded slash for a part of the id.
func TestDeprecationHeadersMatchAnIDWithAnEncodedSlash(t *testing.T) {
	t.Parallel()
	s := newUnstartedServer(t)
	api, engine := s.api(t, defaultServices), gin.New()
	engine.UseRawPath, engine.HandleMethodNotAllowed = true, true
	group := engine.Group(s.prefix)
	engine.NoMethod(api.DeprecationHeaders(group), rest.MethodNotAllowed)
	if err := api.Register(group); err != nil {
		t.Fatal(err)
	}
	s.listen(t, engine)
	s.ask(t, send("DELETE", "/v1/pets/a%2Fb"), refused(405, "method_not_allowed").with(announced...))
}

func TestSuccessorIsTheListOfPets(t *testing.T) {
	t.Parallel()
	s := newTestServer(t)
	a := s.expect(t, get("/v1/pets/1"), want{})
	if successor := a.link(t, "successor-version"); successor != "/v1/pets" {
		t.Errorf("got the successor %q, want /v1/pets", successor)
	}
}

func TestDeprecatedRouteEndsAtTheMomentOfItsSunset(t *testing.T) {
	t.Parallel()
	moved := time.Date(2028, time.March, 1, 9, 30, 0, 0, time.FixedZone("", 2*60*60))
	for name, tt := range map[string]struct {
		options []rest.Option
		sunset  time.Time
		header  string
	}{
		"published": {nil, sunset, "Sunset: Thu, 05 Dec 2030 00:00:00 GMT"},
		"moved":     {[]rest.Option{rest.WithGetPetSunset(moved)}, moved, "Sunset: Wed, 01 Mar 2028 07:30:00 GMT"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := newTestServer(t, tt.options...)
			s.stock(t, pets(1, "")...)
			here := ok(`{"id":1,"name":"Rex","categoryId":7}`).with(tt.header, announced[0], announced[2])
			gone := refused(410, "operation_removed", tt.sunset.UTC().Format(time.DateOnly)).with(tt.header, announced[0], announced[2])

			s.clock.set(tt.sunset.Add(-time.Millisecond))
			s.expect(t, get("/v1/pets/1"), here)
			s.clock.set(tt.sunset)
			s.expect(t, get("/v1/pets/1"), gone)
			s.expect(t, get("/v1/pets/2"), gone)
			s.expect(t, get("/v1/pets"), ok(`[{"id":1,"name":"Rex","categoryId":7}]`))
			s.clock.advance(100 * 365 * 24 * time.Hour)
			s.expect(t, get("/v1/pets/1"), gone)
		})
	}
}
