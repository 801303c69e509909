package modeltest

import (
	"context"
	"errors"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync/atomic"
	"time"

	"github.com/gin-gonic/gin"
	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"pgregory.net/rapid"

	rest "example.com/petstore/delivery/http"
	"example.com/petstore/domain"
	"example.com/petstore/domain/apikey"
	"example.com/petstore/repository"
	"example.com/petstore/repository/engine"
	"example.com/petstore/usecase"
)

// sunset is when getPet is removed.
var sunset = domain.GetPetSunset

// A service is the service to be tested: processes that share a database and a clock.
type service struct {
	engine    engine.Engine
	clock     clock
	processes []*process
	secrets   []string // of the API keys
}

// A process is the API on a store of its own.
type process struct {
	store   *repository.Store
	keys    *usecase.Keys
	handler http.Handler
}

// A clock is a time that changes only when it is advanced.
type clock struct{ millis atomic.Int64 }

func (c *clock) now() time.Time { return time.UnixMilli(c.millis.Load()).UTC() }

func (c *clock) advance(d time.Duration) time.Time {
	c.millis.Add(d.Milliseconds())
	return c.now()
}

func newService(t *rapid.T, e engine.Engine, processes int) *service {
	s := &service{engine: e, processes: make([]*process, processes)}
	s.clock.millis.Store(start.UnixMilli())
	for i := range processes {
		s.start(t, i)
	}
	return s
}

// start opens the store of a process.
func (s *service) start(t *rapid.T, i int) {
	store, err := repository.Open(context.Background(), s.engine, repository.Options{Migrate: true})
	check(t, err)
	keys := usecase.NewKeys(store, store.Keys(), s.clock.now)
	api, err := rest.New(rest.Options{
		Pets:   usecase.NewPets(store, store.Pets(), s.clock.now),
		Orders: usecase.NewOrders(store, store.Orders(), s.clock.now),
		Keys:   keys,
		Now:    s.clock.now, Versions: store.Versions, CacheBytes: 1 << 20,
	})
	check(t, err)
	router := gin.New()
	check(t, api.Mount(router.Group("/v1")))
	s.processes[i] = &process{store, keys, router}
}

func (s *service) restart(t *rapid.T, i int) {
	check(t, s.processes[i].store.Close())
	s.start(t, i)
}

func (s *service) close(t *rapid.T) {
	for _, p := range s.processes {
		if p == nil {
			continue
		}
		if err := p.store.Close(); err != nil {
			t.Error(err)
		}
	}
}

// send returns the response to the request of an operation.
func (s *service) send(ctx context.Context, o operation) response {
	r := httptest.NewRequestWithContext(ctx, o.method, o.path, strings.NewReader(o.body))
	r.Header.Set("Authorization", "Bearer "+s.secrets[o.caller])
	r.Header.Set("Content-Type", "application/json")
	if o.idempotencyKey != "" {
		r.Header.Set("Idempotency-Key", o.idempotencyKey)
	}
	w := httptest.NewRecorder()
	s.processes[o.process].handler.ServeHTTP(w, r)
	return responseOf(w)
}

// createKey creates an API key, which never expires if lifetime is zero.
func (s *service) createKey(t *rapid.T, m *model, lifetime time.Duration, readOnly bool) {
	create := s.processes[0].keys.Create
	if readOnly {
		create = s.processes[0].keys.CreateReadOnly
	}
	secret, err := create(t.Context(), "test", lifetime)
	check(t, err)
	s.secrets = append(s.secrets, secret)
	key := apikey.Key{CreatedAt: m.now, ReadOnly: readOnly}
	if end := m.now.Add(lifetime); lifetime > 0 {
		key.ExpiresAt = &end
	}
	m.keys = append(m.keys, key)
}

// rotateKey rotates a key if the model allows that.
func (s *service) rotateKey(t *rapid.T, m *model, i int, overlap time.Duration) {
	old := &m.keys[i]
	secret, err := s.processes[0].keys.Rotate(t.Context(), int64(i+1), overlap)
	if !old.Usable(m.now) || old.RevokedAt != nil {
		if !errors.Is(err, domain.ErrConflict) {
			t.Fatalf("rotating the key %d, which is %s: got %v, want a conflict", i+1, old.State(m.now), err)
		}
		return
	}
	check(t, err)
	s.secrets = append(s.secrets, secret)
	successor := apikey.Key{CreatedAt: m.now, ReadOnly: old.ReadOnly}
	if old.ExpiresAt != nil {
		end := m.now.Add(old.ExpiresAt.Sub(old.CreatedAt))
		successor.ExpiresAt = &end
	}
	revoked := m.now.Add(overlap)
	old.RevokedAt = &revoked
	m.keys = append(m.keys, successor)
}

func (s *service) revokeKey(t *rapid.T, m *model, i int) {
	check(t, s.processes[0].keys.Revoke(t.Context(), int64(i+1)))
	if key := &m.keys[i]; key.RevokedAt == nil || key.RevokedAt.After(m.now) {
		revoked := m.now
		key.RevokedAt = &revoked
	}
}

// checkRecords compares all animals and orders of the store, and pages that may be cached,
// with those of the model.
func (s *service) checkRecords(t *rapid.T, m *model) {
	reader := slices.IndexFunc(m.keys, func(k apikey.Key) bool { return k.Usable(m.now) })
	if reader < 0 {
		reader = len(m.keys)
		s.createKey(t, m, 0, true)
	}
	for i, p := range s.processes {
		var pets []domain.Pet
		var orders []domain.Order
		check(t, p.store.Pets().Each(t.Context(), "", func(pet domain.Pet) error { pets = append(pets, pet); return nil }))
		check(t, p.store.Orders().Each(t.Context(), "", func(order domain.Order) error { orders = append(orders, order); return nil }))
		if diff := cmp.Diff(m.pets, pets, cmpopts.EquateEmpty()) + cmp.Diff(m.orders, orders, cmpopts.EquateEmpty()); diff != "" {
			t.Fatalf("the store of the process %d (-want +got)\n%s", i, diff)
		}
		for _, o := range []operation{listPets("", 2, 0), listPets(domain.PetPending, 2, 0)} {
			o.process, o.caller = i, reader
			if got, want := s.send(t.Context(), o), m.clone().respond(o, 0); got != want {
				t.Fatalf("%v: got %v, want %v", o, got, want)
			}
		}
	}
}

func check(t *rapid.T, err error) {
	if err != nil {
		t.Fatal(err)
	}
}
