package http_test

import (
	"net/http"
	"slices"
	"testing"
	"time"
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
	expectAll := func(now time.Time) {
		s.clock.set(now)
		for _, path := range []string{"/v1/pets/1", "/v1/pets/2", "/v1/pets/none"} {
			for _, method := range []string{"GET", "HEAD", "OPTIONS", "POST", "PUT", "PATCH", "DELETE", "TRACE", "BREW"} { // from POST on 405
				for _, header := range []string{"X-Auth: valid", "-Authorization", "Authorization: Bearer wrong"} {
					s.expect(t, newRequest(method, path, header), wantResponse{}.withHeader(deprecationHeaders...))
				}
			}
		}
	}
	expectAll(noon)
	s.removeTable(t, "pets")
	expectAll(noon)
	expectAll(sunset.AddDate(1, 0, 0))
}

// With UseRawPath, Gin matches an encoded slash as part of the id.
func TestMethodNotAllowedOfMountedAPIHasDeprecationHeaders(t *testing.T) {
	t.Parallel()
	header := append(slices.Clip(deprecationHeaders), "Allow: GET, HEAD, OPTIONS")
	for prefix, path := range map[string]string{
		"": "", "/shop/v1": "/shop/v1", "/teams/:team": "/teams/a", "/shop-:shop/v1": "/shop-a/v1", "/café": "/caf%C3%A9", "/raw": "/raw",
	} {
		t.Run("prefix "+prefix, func(t *testing.T) {
			t.Parallel()
			s, ids := newMountedServer(t, prefix), []string{"1", "none", "a%20b"}
			if prefix == "/raw" {
				s.host.UseRawPath = true
				ids = []string{"1", "a%2Fb"}
			}
			for _, id := range ids {
				for _, method := range []string{http.MethodDelete, http.MethodPost, "BREW"} {
					s.expectDocumented(t, newRequest(method, path+"/pets/"+id), rejected(405, "method_not_allowed").withHeader(header...))
				}
			}
			for _, other := range []string{"/pets", "/store/orders/1"} {
				s.expectDocumented(t, newRequest("DELETE", path+other), rejected(405, "method_not_allowed").withHeader("-Deprecation", "-Sunset", "-Link"))
			}
		})
	}
}

func TestDeprecatedRouteIsGoneFromSunsetOn(t *testing.T) {
	t.Parallel()
	s := newTestServer(t)
	s.createPets(t, newPets(1, "")...)
	gone := rejected(410, "operation_removed", "2030-12-05").withHeader(deprecationHeaders...)
	s.clock.set(sunset.Add(-time.Millisecond))
	s.expect(t, get("/v1/pets/1"), ok(createdRex).withHeader(deprecationHeaders...))
	for _, now := range []time.Time{sunset, sunset.AddDate(100, 0, 0)} {
		s.clock.set(now)
		for _, id := range []string{"1", "2", "none"} {
			s.expect(t, get("/v1/pets/"+id), gone)
		}
	}
	s.expect(t, get("/v1/pets/1", "-Authorization"), rejected(401, "missing_api_key"))
	s.expect(t, newRequest("DELETE", "/v1/pets/1"), rejected(405, "method_not_allowed"))
	s.expect(t, get("/v1/pets"), ok(`[`+createdRex+`]`))
}
