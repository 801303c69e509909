package faults

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/gin-gonic/gin"

	rest "example.com/petstore/delivery/http"
	"example.com/petstore/domain"
	"example.com/petstore/repository"
	"example.com/petstore/repository/sqlite"
	"example.com/petstore/test/harness"
	"example.com/petstore/test/ledger"
	"example.com/petstore/usecase"
)

// TestClockJumpsLoseNothing sets the clock to just before the removal of getPet, and a day forward
// and back, while clients sell. The clock is injected: a Go program reads the time without libc, so
// libfaketime has no effect on it.
func TestClockJumpsLoseNothing(t *testing.T) {
	gin.SetMode(gin.TestMode)
	var offset atomic.Int64
	now := func() time.Time { return time.Now().Add(time.Duration(offset.Load())) }
	folder := t.TempDir()
	store, err := repository.Open(t.Context(), sqlite.New(filepath.Join(folder, "petstore.db")), repository.Options{Migrate: true})
	harness.Check(t, err)
	keys := usecase.NewKeys(store, store.Keys(), now)
	service, err := rest.New(rest.Options{
		Pets: usecase.NewPets(store, store.Pets(), now), Orders: usecase.NewOrders(store, store.Orders(), now), Keys: keys,
		Now: now, Versions: store.Versions, CacheBytes: 1 << 20,
	})
	harness.Check(t, err)
	engine := gin.New()
	harness.Check(t, service.Mount(engine.Group("/v1")))
	api := httptest.NewServer(engine)
	defer api.Close()
	key, err := keys.Create(t.Context(), "test", 0)
	harness.Check(t, err)
	s, l := &server{Server: &harness.Server{URL: api.URL, Key: key}}, ledger.New()
	for _, jump := range []time.Duration{time.Until(domain.GetPetSunset) - 200*time.Millisecond, 0, 24 * time.Hour, -24 * time.Hour, 0} {
		offset.Store(int64(jump))
		s.clients(l).During(t.Context(), pick(500*time.Millisecond, 3*time.Second), 16)
		wantGone := !now().Before(domain.GetPetSunset)
		s.WantStatus(t, "/v1/pets/1", map[bool]int{false: 200, true: 410}[wantGone])
	}
	err = store.Orders().Each(context.Background(), "", func(o domain.Order) error {
		if o.UpdatedAt.Before(o.CreatedAt) {
			return fmt.Errorf("the order %d was updated before it was created", o.ID)
		}
		return nil
	})
	harness.Check(t, err)
	harness.Check(t, store.Close())
	if l.Unavailable() > 0 {
		t.Errorf("got %d responses with 503, want none", l.Unavailable())
	}
	wantStore(t, folder, l)
	t.Logf("%v; lost 0, doubled 0", l)
}

// TestTimesAreUTCInEachTimeZone starts the server in several time zones.
func TestTimesAreUTCInEachTimeZone(t *testing.T) {
	for _, zone := range pick([]string{"Pacific/Kiritimati"}, []string{"Pacific/Kiritimati", "America/St_Johns", "Asia/Kathmandu", "UTC"}) {
		folder := t.TempDir()
		s := start(t, folder, "", "TZ="+zone)
		l := ledger.New()
		s.clients(l).During(t.Context(), 300*time.Millisecond, 1)
		_, body, err := s.Do(t.Context(), http.MethodGet, "/v1/store/orders?limit=1", "")
		harness.Check(t, err)
		var orders []struct{ CreatedAt string }
		harness.Check(t, json.Unmarshal([]byte(body), &orders))
		if len(orders) != 1 {
			t.Fatalf("%s: got %d orders, want 1", zone, len(orders))
		}
		at, err := time.Parse(time.RFC3339, orders[0].CreatedAt)
		if err != nil || !strings.HasSuffix(orders[0].CreatedAt, "Z") || time.Since(at).Abs() > time.Minute {
			t.Errorf("%s: the order was created at %s, want now in UTC", zone, orders[0].CreatedAt)
		}
		s.stop(t, l)
	}
}
