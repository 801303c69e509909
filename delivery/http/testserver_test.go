package http_test

import (
	"context"
	"database/sql"
	"net"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/gin-gonic/gin"
	"go.uber.org/goleak"
	"go.uber.org/zap"
	"go.uber.org/zap/zaptest/observer"

	rest "example.com/petstore/delivery/http"
	"example.com/petstore/delivery/http/server"
	"example.com/petstore/domain"
	"example.com/petstore/repository"
	"example.com/petstore/repository/sqlite"
	"example.com/petstore/usecase"
)

func TestMain(m *testing.M) {
	gin.SetMode(gin.TestMode)
	goleak.VerifyTestMain(m)
}

// noon is when every test begins.
var noon = time.Date(2026, time.November, 20, 12, 0, 0, 0, time.UTC)

// A clock stands still until it is moved.
type clock struct{ millis atomic.Int64 }

func (c *clock) set(t time.Time)         { c.millis.Store(t.UnixMilli()) }
func (c *clock) advance(d time.Duration) { c.millis.Add(d.Milliseconds()) }
func (c *clock) now() time.Time          { return time.UnixMilli(c.millis.Load()) }

// A testServer is the service as a client meets it: the real use cases on a SQLite file
// of the test's own, behind a real server on loopback.
type testServer struct {
	url        string // of the server
	prefix     string // of the API
	key        string // an API key that the store knows
	challenge  string // with which a 401 begins its WWW-Authenticate
	file       string
	store      *repository.Store
	closeStore func() error
	keys       *usecase.Keys
	health     *server.Health
	clock      *clock
	log        *observer.ObservedLogs
	logger     *zap.Logger
	client     *http.Client
}

// newTestServer opens a shop for as long as the test runs.
func newTestServer(t *testing.T, options ...rest.Option) *testServer {
	t.Helper()
	return newTestServerWith(t, defaultServices, options...)
}

// defaultServices replaces no use case.
func defaultServices(*rest.Services) {}

// newTestServerWith is newTestServer after alter replaced some of the use cases.
func newTestServerWith(t *testing.T, alter func(*rest.Services), options ...rest.Option) *testServer {
	t.Helper()
	s := newUnstartedServer(t)
	s.listen(t, s.engine(t, nil, alter, options...))
	return s
}

// newUnstartedServer is a shop with all but a server.
func newUnstartedServer(t testing.TB) *testServer {
	t.Helper()
	s := &testServer{prefix: "/v1", challenge: `Bearer realm="petstore"`, file: filepath.Join(t.TempDir(), "pets.db"), clock: &clock{}}
	s.clock.set(noon)
	core, log := observer.New(zap.DebugLevel)
	s.logger, s.log = zap.New(core), log

	store, err := repository.Open(context.Background(), sqlite.New(s.file), repository.Options{Migrate: true})
	if err != nil {
		t.Fatal(err)
	}
	s.closeStore = sync.OnceValue(store.Close)
	t.Cleanup(func() {
		if err := s.closeStore(); err != nil {
			t.Error(err)
		}
	})
	s.store = store
	s.health = server.NewHealth(store.Ping)
	s.keys = usecase.NewKeys(store, store.Keys(), s.clock.now)
	s.key = s.issueKey(t)
	return s
}

func (s *testServer) issueKey(t testing.TB) string {
	t.Helper()
	key, err := s.keys.Create(context.Background(), "test", 0)
	if err != nil {
		t.Fatal(err)
	}
	return key
}

func (s *testServer) api(t testing.TB, alter func(*rest.Services), options ...rest.Option) *rest.API {
	t.Helper()
	services := rest.Services{
		Pets:   usecase.NewPets(s.store, s.store.Pets(), s.clock.now),
		Orders: usecase.NewOrders(s.store, s.store.Orders(), s.clock.now),
		Keys:   s.keys,
	}
	alter(&services)
	defaults := []rest.Option{rest.WithClock(s.clock.now), rest.WithLogger(s.logger), rest.WithPageCache(s.store.Versions, 1<<20)}
	api, err := rest.New(services, append(defaults, options...)...)
	if err != nil {
		t.Fatal(err)
	}
	return api
}

func (s *testServer) engine(t testing.TB, proxies []string, alter func(*rest.Services), options ...rest.Option) *gin.Engine {
	t.Helper()
	engine, err := server.NewEngine(s.api(t, alter, options...), s.health, proxies)
	if err != nil {
		t.Fatal(err)
	}
	return engine
}

// listen serves a handler to clients that follow no redirect.
func (s *testServer) listen(t *testing.T, handler http.Handler) {
	t.Helper()
	server := httptest.NewServer(handler)
	t.Cleanup(server.Close)
	s.url, s.client = server.URL, server.Client()
	s.client.Timeout = 30 * time.Second
	s.client.CheckRedirect = func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }
}

// stock adds pets, all in one transaction, and returns them.
func (s *testServer) stock(t testing.TB, news ...domain.NewPet) []domain.Pet {
	t.Helper()
	pets := make([]domain.Pet, len(news))
	err := s.store.InTx(t.Context(), func(ctx context.Context, r domain.Repositories) (err error) {
		for i, pet := range news {
			if pets[i], err = r.Pets.Create(ctx, pet); err != nil {
				return err
			}
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return pets
}

// pets are n animals with a status.
func pets(n int, status domain.PetStatus) []domain.NewPet {
	news := make([]domain.NewPet, n)
	for i := range news {
		news[i] = domain.NewPet{Name: "Rex", CategoryID: 7, Status: status}
	}
	return news
}

// exec changes the store behind the service's back.
func (s *testServer) exec(t *testing.T, statement string, args ...any) {
	t.Helper()
	db, err := sql.Open("sqlite3", "file:"+s.file+"?_busy_timeout=5000")
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = db.Close() }()
	if _, err := db.ExecContext(t.Context(), statement, args...); err != nil {
		t.Fatal(err)
	}
}

func loopback(t *testing.T) net.Listener {
	t.Helper()
	listener, err := new(net.ListenConfig).Listen(t.Context(), "tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { listener.Close() })
	return listener
}
