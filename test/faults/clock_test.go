package faults

import (
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"sync/atomic"
	"testing"
	"time"

	"github.com/gin-gonic/gin"

	rest "example.com/petstore/delivery/http"
	"example.com/petstore/repository"
	"example.com/petstore/repository/sqlite"
	"example.com/petstore/test/harness"
	"example.com/petstore/test/ledger"
	"example.com/petstore/usecase"
)

// TestClockJumpsLoseNothing sets the clock a day forward and back, while clients sell. The clock is
// injected: a Go program reads the time without libc, so libfaketime has no effect on it.
func TestClockJumpsLoseNothing(t *testing.T) {
	gin.SetMode(gin.TestMode)
	var offset atomic.Int64
	now := func() time.Time { return time.Now().Add(time.Duration(offset.Load())) }
	folder := t.TempDir()
	store, err := repository.Open(t.Context(), sqlite.New(harness.StorePath(folder)), repository.Options{Migrate: true})
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
	l := ledger.New()
	stop := ledger.NewClients(l, api.URL, key).Start(t.Context(), 16)
	for _, jump := range []time.Duration{0, 24 * time.Hour, -24 * time.Hour, 0} {
		offset.Store(int64(jump))
		time.Sleep(pick(500*time.Millisecond, 3*time.Second))
	}
	stop()
	harness.Check(t, store.Close())
	if n := harness.QueryInt(t, folder, "SELECT count(*) FROM orders WHERE updated_at < created_at"); n > 0 {
		t.Errorf("%d orders were updated before they were created", n)
	}
	if l.Unavailable() > 0 {
		t.Errorf("got %d responses with 503, want none", l.Unavailable())
	}
	wantStore(t, folder, l, ledger.AtTheEnd)
	t.Logf("%v; lost 0, doubled 0", l.Counts())
}

func TestTimesAreUTCInEachTimeZone(t *testing.T) {
	for _, zone := range []string{"Pacific/Kiritimati", "America/St_Johns"} {
		s := start(t, t.TempDir(), "", "TZ="+zone)
		s.AddPet(t, "Rex")
		_, body, err := s.Do(t.Context(), http.MethodPost, "/v1/store/orders", `{"petId":1}`)
		harness.Check(t, err)
		var order struct{ CreatedAt time.Time }
		harness.Check(t, json.Unmarshal([]byte(body), &order))
		if at := order.CreatedAt; at.Location() != time.UTC || time.Since(at).Abs() > harness.Scaled(time.Minute) {
			t.Errorf("%s: got the order %s, want it created now in UTC", zone, body)
		}
	}
}
