package http_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/gin-gonic/gin"

	rest "example.com/petstore/delivery/http"
)

func TestNewRequiresServices(t *testing.T) {
	t.Parallel()
	all := newUnstartedServer(t).options()
	pets, orders, keys := all.Pets, all.Orders, all.Keys
	authenticate := func(*gin.Context) (string, error) { return "caller", nil }
	for name, tc := range map[string]struct {
		options rest.Options
		valid   bool
	}{
		"none":                   {rest.Options{}, false},
		"no pets":                {rest.Options{Orders: orders, Keys: keys}, false},
		"no orders":              {rest.Options{Pets: pets, Keys: keys}, false},
		"no keys":                {rest.Options{Pets: pets, Orders: orders}, false},
		"authenticator, no keys": {rest.Options{Pets: pets, Orders: orders, Authenticate: authenticate}, true},
		"all, no others":         {rest.Options{Pets: pets, Orders: orders, Keys: keys}, true},
	} {
		api, err := rest.New(tc.options)
		if (err == nil) != tc.valid || (api != nil) != tc.valid {
			t.Errorf("%s: got API %v and error %v", name, api, err)
		}
		if err != nil && !strings.Contains(err.Error(), "rest.New: ") {
			t.Errorf("%s: got error %v, want it to name rest.New", name, err)
		}
	}
}

func TestNewRejectsInvalidOptions(t *testing.T) {
	t.Parallel()
	s := newUnstartedServer(t)
	for name, change := range map[string]option{
		"RequestTimeout": withRequestTimeout(-1),
		"CacheBytes":     func(o *rest.Options) { o.Versions = nil },
	} {
		o := s.options()
		change(&o)
		if _, err := rest.New(o); err == nil || !strings.Contains(err.Error(), "rest.New: Options."+name+" ") {
			t.Errorf("%s: got error %v", name, err)
		}
	}
}

func TestNewRejectsInvalidOrigins(t *testing.T) {
	t.Parallel()
	o := newUnstartedServer(t).options()
	for _, origin := range []string{"", "null", "shop.example.com", "//shop.example.com", "https://", "https://shop.example.com/", "https://shop.example.com/shop", "https://me@shop.example.com", "https://shop.example.com?a", "https://*.*.example.com", ":"} {
		o.AllowedOrigins = []string{"https://shop.example.com", origin}
		_, err := rest.New(o)
		if err == nil || !strings.Contains(err.Error(), fmt.Sprintf("rest.New: Options.AllowedOrigins has %q", origin)) {
			t.Errorf("%q: got error %v", origin, err)
		}
	}
	o.AllowedOrigins = []string{"*", "https://*.example.com", "http://[::1]:3000", "http://localhost:*"}
	if _, err := rest.New(o); err != nil {
		t.Errorf("got error %v", err)
	}
}
