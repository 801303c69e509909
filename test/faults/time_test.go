package faults

import (
	"encoding/json"
	"hash/crc32"
	"math/big"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/gin-gonic/gin"

	rest "example.com/petstore/delivery/http"
	"example.com/petstore/domain/apikey"
	"example.com/petstore/internal/test/testkit"
	"example.com/petstore/repository"
	"example.com/petstore/repository/sqlite"
	"example.com/petstore/test/harness"
	"example.com/petstore/test/linearizability"
	"example.com/petstore/usecase"
)

// TestClockJumpsLoseNothing sets the clock a day forward and back while clients sell. The clock is
// injected: a Go program reads the time without libc, so libfaketime has no effect on it.
func TestClockJumpsLoseNothing(t *testing.T) {
	gin.SetMode(gin.TestMode)
	var offset atomic.Int64
	now := func() time.Time { return time.Now().Add(time.Duration(offset.Load())) }
	folder := t.TempDir()
	store, err := repository.Open(t.Context(), sqlite.New(harness.StorePath(folder)), repository.Options{Now: now})
	testkit.Check(t, err)
	keys := usecase.NewKeys(store, store.Keys(), now)
	service, err := rest.New(rest.Service{
		Pets: usecase.NewPets(store, store.Pets()), Orders: usecase.NewOrders(store, store.Orders(), now), Keys: keys,
		Categories: usecase.NewCategories(store, store.Categories()),
		Changes:    usecase.NewChanges(store, store.Changes(), now), Now: now, Numbers: store.Numbers,
	}, rest.Options{CacheBytes: 1 << 20})
	testkit.Check(t, err)
	engine := gin.New()
	testkit.Check(t, service.Mount(engine.Group("/v1")))
	api := httptest.NewServer(engine)
	defer api.Close()
	key, err := keys.Create(t.Context(), "test", 0, "")
	testkit.Check(t, err)
	l := newLoad(t)
	l.url.Store(&api.URL)
	l.Keys = []string{key}
	stop := l.Start(t.Context(), 16)
	for _, jump := range []time.Duration{0, 24 * time.Hour, -24 * time.Hour, 0} {
		offset.Store(int64(jump))
		time.Sleep(pick(500*time.Millisecond, 3*time.Second))
	}
	stop()
	testkit.Check(t, store.Close())
	if n := harness.QueryInt(t, folder, "SELECT count(*) FROM orders WHERE updated_at < created_at"); n > 0 {
		t.Errorf("%d orders were updated before they were created", n)
	}
	if l.History.Unavailable() > 0 {
		t.Errorf("got %d responses with 503, want none", l.History.Unavailable())
	}
	wantStore(t, folder, l, linearizability.AtTheEnd)
	t.Logf("%v", l.History)
}

func TestTimesAreUTCInEachTimeZone(t *testing.T) {
	for _, zone := range []string{"Pacific/Kiritimati", "America/St_Johns"} {
		s := start(t, t.TempDir(), "", "TZ="+zone)
		s.AddPet(t, "Rex")
		_, body, err := s.Do(t.Context(), http.MethodPost, "/v1/store/orders", `{"petId":1}`)
		testkit.Check(t, err)
		var order struct{ CreatedAt time.Time }
		testkit.Check(t, json.Unmarshal([]byte(body), &order))
		if at := order.CreatedAt; at.Location() != time.UTC || time.Since(at).Abs() > testkit.Scaled(time.Minute) {
			t.Errorf("%s: got the order %s, want it created now in UTC", zone, body)
		}
	}
}

// TestTimesOfResponsesRevealNoKey measures how long the rejection of a key takes. A key is hashed before it
// is looked up, so a key that is nearly right takes as long as any other.
func TestTimesOfResponsesRevealNoKey(t *testing.T) {
	s := start(t, t.TempDir(), "")
	if _, ok := apikey.HashOf(nearlyRight(s.Key)); !ok {
		t.Fatal("the key that is nearly right is malformed")
	}
	reject := func(key string) time.Duration {
		begun := time.Now()
		status, body, err := s.Do(t.Context(), http.MethodGet, "/v1/store/orders/1", "", "Authorization", "Bearer "+key)
		if err != nil || status != http.StatusUnauthorized {
			t.Fatal(status, body, err)
		}
		return time.Since(begun)
	}
	unknown := make([]time.Duration, pick(500, 20_000))
	differences := make([]time.Duration, len(unknown)) // each between two successive requests: what else the machine does affects both
	for i := range unknown {
		unknown[i] = reject(apikey.Generate())
		differences[i] = reject(nearlyRight(s.Key)) - unknown[i]
	}
	difference, all := median(differences), median(unknown)
	if difference.Abs() > all/5 {
		t.Errorf("a key that is nearly right takes %v longer than any other, which takes %v", difference, all)
	}
	t.Logf("%d tries; a key that is nearly right takes %v longer than another, which takes %v", len(unknown), difference, all)
}

// nearlyRight returns a well-formed key that differs from another in its last random character.
func nearlyRight(key string) string {
	random := []byte(key[len("petstore_") : len(key)-6])
	last := &random[len(random)-1]
	*last = map[bool]byte{true: 'b', false: 'a'}[*last == 'a']
	sum := big.NewInt(int64(crc32.ChecksumIEEE(random))).Text(62)
	return "petstore_" + string(random) + strings.Repeat("0", 6-len(sum)) + sum
}
