package http_test

import (
	"fmt"
	"math"
	"strings"
	"testing"
	"time"

	"github.com/gin-gonic/gin"

	rest "example.com/petstore/delivery/http"
)

func TestNewChecksItsOptions(t *testing.T) {
	t.Parallel()
	all := newUnstartedServer(t).options()
	for want, changes := range map[string][]option{
		"": {
			func(*rest.Options) {},
			func(o *rest.Options) {
				o.Keys, o.Authenticate = nil, func(*gin.Context) (string, error) { return "caller", nil }
			},
			func(o *rest.Options) { *o = rest.Options{Pets: all.Pets, Orders: all.Orders, Keys: all.Keys} },
			withAllowedOrigins("*", "https://*.example.com", "http://[::1]:3000", "http://localhost:*"),
			withRateLimit(0, 0), withRateLimit(0, -time.Second), withRateLimit(1, time.Second), withRateLimit(1, 24*time.Hour),
			withRateLimit(1, math.MaxInt64/time.Second*time.Second), withRateLimit(999_999_999_999_999, time.Second),
		},
		"rest.New: ": {
			func(o *rest.Options) { *o = rest.Options{} },
			func(o *rest.Options) { o.Pets = nil },
			func(o *rest.Options) { o.Orders = nil },
			func(o *rest.Options) { o.Keys = nil },
		},
		"rest.New: Options.RequestTimeout ": {withRequestTimeout(-1)},
		"rest.New: Options.CacheBytes ":     {func(o *rest.Options) { o.Versions = nil }},
		"rest.New: Options.RateLimit has ": {
			withRateLimit(1_000_000_000_000_000, 24*time.Hour), withRateLimit(math.MaxInt, time.Second),
			withRateLimit(-1, time.Minute), withRateLimit(math.MinInt, time.Minute), withRateLimit(1, 0), withRateLimit(1, -time.Minute),
			withRateLimit(1, time.Nanosecond), withRateLimit(1, time.Second-1), withRateLimit(1, time.Second+1),
			withRateLimit(1, 1500*time.Millisecond), withRateLimit(1, math.MaxInt64),
		},
	} {
		for i, change := range changes {
			o := all
			change(&o)
			api, err := rest.New(o)
			if (err == nil) != (want == "") || (api != nil) != (want == "") || err != nil && !strings.HasPrefix(err.Error(), want) {
				t.Errorf("options %d of %q: got API %v and error %v", i, want, api, err)
			}
		}
	}
	for _, origin := range []string{"", "null", "shop.example.com", "//shop.example.com", "https://", "https://shop.example.com/", "https://shop.example.com/shop", "https://me@shop.example.com", "https://shop.example.com?a", "https://*.*.example.com", ":"} {
		all.AllowedOrigins = []string{"https://shop.example.com", origin}
		_, err := rest.New(all)
		if err == nil || !strings.Contains(err.Error(), fmt.Sprintf("rest.New: Options.AllowedOrigins has %q", origin)) {
			t.Errorf("%q: got error %v", origin, err)
		}
	}
}
