package http_test

import (
	"net/http"
	"slices"
	"testing"
	"time"

	"github.com/gin-gonic/gin"

	rest "example.com/petstore/delivery/http"
	"example.com/petstore/domain"
)

// sunset is the published time from which getPet is removed.
var sunset = time.Date(2030, time.December, 5, 0, 0, 0, 0, time.UTC)

var deprecationHeaders = []string{
	"Deprecation: @1764892800",
	"Sunset: Thu, 05 Dec 2030 00:00:00 GMT",
	`Link: <../pets>; rel="successor-version"`,
}

func TestDeprecatedRouteSendsDeprecationHeaders(t *testing.T) {
	t.Parallel()
	s := newTestServer(t)
	s.createPets(t, newPets(1, "")...)
	for _, now := range []time.Time{noon, sunset.AddDate(1, 0, 0)} {
		s.clock.set(now)
		for _, path := range []string{"/v1/pets/1", "/v1/pets/2", "/v1/pets/none"} {
			for _, method := range []string{
				http.MethodGet, http.MethodHead, http.MethodOptions,
				http.MethodPost, http.MethodPut, http.MethodPatch, http.MethodDelete, http.MethodTrace, "BREW", // 405
			} {
				for _, header := range []string{"X-Auth: valid", "-Authorization", "Authorization: Bearer wrong"} {
					s.expect(t, newRequest(method, path, header), wantResponse{}.withHeader(deprecationHeaders...))
				}
			}
		}
	}
}

func TestErrorsOfDeprecatedRouteHaveDeprecationHeaders(t *testing.T) {
	t.Parallel()
	s, err := newTestServer(t), domain.Forbidden("not allowed")
	s.removeTable(t, "pets")
	s.expect(t, get("/v1/pets/1"), wantResponse{status: 500}.withHeader(deprecationHeaders...))
	newRejectingServer(t, &err).expect(t, get("/v1/pets/1"), wantResponse{status: 403}.withHeader(deprecationHeaders...))
}

func TestOtherRoutesHaveNoDeprecationHeaders(t *testing.T) {
	t.Parallel()
	s := newTestServer(t)
	for _, path := range []string{"/v1/pets", "/v1/store/orders", "/livez", "/nowhere", "/pets/1", "/v1/pets/", "/v1/pets/1/"} {
		for _, method := range []string{http.MethodGet, http.MethodDelete} {
			s.expect(t, newRequest(method, path), wantResponse{}.withHeader("-Deprecation", "-Sunset", "-Link"))
		}
	}
}

func TestMethodNotAllowedOfMountedAPIHasDeprecationHeaders(t *testing.T) {
	t.Parallel()
	header := append(slices.Clip(deprecationHeaders), "Allow: GET, HEAD, OPTIONS")
	for prefix, path := range map[string]string{
		"": "", "/shop/v1": "/shop/v1", "/teams/:team": "/teams/a", "/shop-:shop/v1": "/shop-a/v1", "/café": "/caf%C3%A9",
	} {
		t.Run("prefix "+prefix, func(t *testing.T) {
			t.Parallel()
			s := newMountedServer(t, prefix)
			for _, id := range []string{"1", "none", "a%20b"} {
				for _, method := range []string{http.MethodDelete, http.MethodPost, "BREW"} {
					s.expectDocumented(t, newRequest(method, path+"/pets/"+id), rejected(405, "method_not_allowed").withHeader(header...))
				}
			}
			s.expectDocumented(t, newRequest("DELETE", path+"/pets"), rejected(405, "method_not_allowed").withHeader("-Deprecation", "-Sunset", "-Link"))
			s.expectDocumented(t, newRequest("DELETE", path+"/store/orders/1"), rejected(405, "method_not_allowed").withHeader("-Deprecation", "-Sunset", "-Link"))
		})
	}
}

// With UseRawPath, Gin matches an encoded slash as part of the id.
func TestDeprecationHeadersMatchIDWithEncodedSlash(t *testing.T) {
	t.Parallel()
	s := newUnstartedServer(t)
	api, engine := s.api(t), gin.New()
	engine.UseRawPath, engine.HandleMethodNotAllowed = true, true
	engine.NoMethod(api.MarkDeprecated, rest.MethodNotAllowed)
	s.startHost(t, engine, api)
	s.expectDocumented(t, newRequest("DELETE", "/v1/pets/a%2Fb"), rejected(405, "method_not_allowed").withHeader(deprecationHeaders...))
}

func TestDeprecatedRouteIsGoneFromSunsetOn(t *testing.T) {
	t.Parallel()
	s := newTestServer(t)
	s.createPets(t, newPets(1, "")...)
	found := ok(`{"id":1,"name":"Rex","categoryId":7}`).withHeader(deprecationHeaders...)
	gone := rejected(410, "operation_removed", "2030-12-05").withHeader(deprecationHeaders...)

	s.clock.set(sunset.Add(-time.Millisecond))
	s.expect(t, get("/v1/pets/1"), found)
	s.clock.set(sunset)
	s.expect(t, get("/v1/pets/1"), gone)
	s.expect(t, get("/v1/pets/2"), gone)
	s.expect(t, get("/v1/pets"), ok(`[{"id":1,"name":"Rex","categoryId":7}]`))
	s.clock.advance(100 * 365 * 24 * time.Hour)
	s.expect(t, get("/v1/pets/1"), gone)
}
