package http_test

import (
	"net/http"
	"testing"
	"time"

	rest "example.com/petstore/delivery/http"
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
		s := openShop(t)
		s.stock(t, pets(1, "")...)
		s.clock.set(now)
		for _, path := range []string{"/v1/pets/1", "/v1/pets/2", "/v1/pets/none"} {
			for _, method := range []string{http.MethodGet, http.MethodHead, http.MethodOptions} {
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
		s := openShop(t)
		s.exec(t, `DROP TABLE pets`)
		s.expect(t, get("/v1/pets/1"), want{status: 500}.with(announced...))
	})
	t.Run("deadline passed", func(t *testing.T) {
		t.Parallel()
		s := openShopWith(t, slowKeys, rest.WithRequestTimeout(time.Millisecond))
		s.expect(t, get("/v1/pets/1"), want{status: 503}.with(announced...))
	})
}

func TestOtherRoutesAnnounceNoRemoval(t *testing.T) {
	t.Parallel()
	s := openShop(t)
	for _, path := range []string{"/v1/pets", "/v1/store/orders", "/livez", "/nowhere"} {
		s.expect(t, get(path), want{}.with("-Deprecation", "-Sunset", "-Link"))
	}
}

func TestSuccessorIsTheListOfPets(t *testing.T) {
	t.Parallel()
	s := openShop(t)
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
			s := openShop(t, tt.options...)
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
