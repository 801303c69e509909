package http_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/gin-gonic/gin"

	rest "example.com/petstore/delivery/http"
	"example.com/petstore/domain"
)

func TestNewRequiresServices(t *testing.T) {
	t.Parallel()
	services := newUnstartedServer(t).services()
	pets, orders, keys := services.Pets, services.Orders, services.Keys
	authenticator := rest.WithAuthenticator(func(*gin.Context) (string, error) { return "caller", nil })
	for name, tc := range map[string]struct {
		services rest.Services
		options  []rest.Option
		valid    bool
	}{
		"none":                   {rest.Services{}, nil, false},
		"no pets":                {rest.Services{Orders: orders, Keys: keys}, nil, false},
		"no orders":              {rest.Services{Pets: pets, Keys: keys}, nil, false},
		"no keys":                {rest.Services{Pets: pets, Orders: orders}, nil, false},
		"authenticator, no keys": {rest.Services{Pets: pets, Orders: orders}, []rest.Option{authenticator}, true},
		"all":                    {services, nil, true},
	} {
		api, err := rest.New(tc.services, tc.options...)
		if (err == nil) != tc.valid || (api != nil) != tc.valid {
			t.Errorf("%s: got API %v and error %v", name, api, err)
		}
		if err != nil && !strings.Contains(err.Error(), "rest.New: ") {
			t.Errorf("%s: got error %v, want it to name rest.New", name, err)
		}
	}
}

func TestNewRejectsMissingOptionValues(t *testing.T) {
	t.Parallel()
	services := newUnstartedServer(t).services()
	for name, option := range map[string]rest.Option{
		"WithLogger": rest.WithLogger(nil), "WithClock": rest.WithClock(nil), "WithRequestTimeout": rest.WithRequestTimeout(0),
		"WithPageCache": rest.WithPageCache(nil, 1),
	} {
		if _, err := rest.New(services, option); err == nil || !strings.Contains(err.Error(), "rest.New: "+name+" was given no ") {
			t.Errorf("%s: got error %v", name, err)
		}
	}
}

func TestNewRejectsSunsetBeforeDeprecation(t *testing.T) {
	t.Parallel()
	services := newUnstartedServer(t).services()
	for _, sunset := range []time.Time{{}, domain.GetPetDeprecation.Add(-time.Second)} {
		if _, err := rest.New(services, rest.WithGetPetSunset(sunset)); err == nil || !strings.Contains(err.Error(), "rest.New: WithGetPetSunset was given "+sunset.Format(time.RFC3339)) {
			t.Errorf("%s: got error %v", sunset, err)
		}
	}
	if _, err := rest.New(services, rest.WithGetPetSunset(domain.GetPetDeprecation)); err != nil {
		t.Errorf("the time of the deprecation: got error %v", err)
	}
}

func TestNewRejectsInvalidOrigins(t *testing.T) {
	t.Parallel()
	services := newUnstartedServer(t).services()
	for _, origin := range []string{"", "null", "shop.example.com", "//shop.example.com", "https://", "https://shop.example.com/", "https://shop.example.com/shop", "https://me@shop.example.com", "https://shop.example.com?a", "https://*.*.example.com", ":"} {
		_, err := rest.New(services, rest.WithAllowedOrigins("https://shop.example.com", origin))
		if err == nil || !strings.Contains(err.Error(), fmt.Sprintf("rest.New: WithAllowedOrigins was given %q", origin)) {
			t.Errorf("%q: got error %v", origin, err)
		}
	}
	if _, err := rest.New(services, rest.WithAllowedOrigins("*", "https://*.example.com", "http://[::1]:3000", "http://localhost:*")); err != nil {
		t.Errorf("got error %v", err)
	}
}
