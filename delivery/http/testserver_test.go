package http_test

import (
	"bufio"
	"context"
	"net"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/gin-gonic/gin"
	"github.com/prometheus/client_golang/prometheus"
	"go.uber.org/goleak"
	"go.uber.org/zap"
	"go.uber.org/zap/zaptest/observer"

	rest "example.com/petstore/delivery/http"
	"example.com/petstore/delivery/http/server"
	"example.com/petstore/domain"
	"example.com/petstore/domain/apikey"
	"example.com/petstore/domain/port"
	"example.com/petstore/repository"
	"example.com/petstore/repository/enginetest"
	"example.com/petstore/usecase"
)

func TestMain(m *testing.M) {
	gin.SetMode(gin.TestMode)
	goleak.VerifyTestMain(enginetest.WithDatabases(m))
}

// noon is the initial time of every test's clock.
var noon = time.Date(2026, time.November, 20, 12, 0, 0, 0, time.UTC)

// A clock is a time that changes only when set.
type clock struct{ millis atomic.Int64 }

func (c *clock) set(t time.Time)         { c.millis.Store(t.UnixMilli()) }
func (c *clock) advance(d time.Duration) { c.millis.Add(d.Milliseconds()) }
func (c *clock) now() time.Time          { return time.UnixMilli(c.millis.Load()) }

// A testServer is the API with its use cases on a database of its own, served over
// loopback.
type testServer struct {
	url       string // of the server
	prefix    string // of the API
	key       string // a valid API key
	challenge string // prefix of WWW-Authenticate in a 401
	database  enginetest.Database
	store     *repository.Store
	keys      *usecase.Keys
	changes   *usecase.Changes
	health    *server.Health
	clock     *clock
	log       *observer.ObservedLogs
	logger    *zap.Logger
	client    *http.Client
	host      *gin.Engine // of newMountedServer
}

// newTestServer returns a server that runs until the test ends.
func newTestServer(t *testing.T, options ...option) *testServer {
	t.Helper()
	s := newUnstartedServer(t)
	s.start(t, s.engine(t, nil, options...))
	return s
}

// An option changes the options of the API of a testServer.
type option = func(*rest.Options)

func withRateLimit(requests int, window time.Duration) option {
	return func(o *rest.Options) { o.RateLimit = rest.RateLimit{Requests: requests, Window: window} }
}

func withMetrics(registry prometheus.Registerer) option {
	return func(o *rest.Options) { o.Metrics = registry }
}

func withRequestTimeout(timeout time.Duration) option {
	return func(o *rest.Options) { o.RequestTimeout = timeout }
}

func withAllowedOrigins(origins ...string) option {
	return func(o *rest.Options) { o.AllowedOrigins = origins }
}

func withAuthenticator(authenticate rest.Authenticator) option {
	return func(o *rest.Options) { o.Authenticate = authenticate }
}

// newUnstartedServer returns a testServer without an HTTP server, for start or serve.
func newUnstartedServer(t testing.TB) *testServer {
	t.Helper()
	return newServerWithStore(t, repository.Options{})
}

// newServerWithStore is newUnstartedServer with options of the store.
func newServerWithStore(t testing.TB, o repository.Options) *testServer {
	t.Helper()
	s := &testServer{prefix: "/v1", challenge: `Bearer realm="petstore"`, database: enginetest.New(t), clock: &clock{}}
	s.clock.set(noon)
	core, log := observer.New(zap.DebugLevel)
	s.logger, s.log = zap.New(core), log

	store, err := repository.Open(context.Background(), s.database.Engine(), o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := store.Close(); err != nil {
			t.Error(err)
		}
	})
	s.store = store
	s.health = server.NewHealth(store.Ping)
	s.keys = usecase.NewKeys(store, store.Keys(), s.clock.now)
	s.changes = usecase.NewChanges(store, store.Changes(), s.clock.now, 0)
	if err := s.changes.Begin(context.Background()); err != nil {
		t.Fatal(err)
	}
	s.key = s.createKey(t)
	return s
}

func (s *testServer) createKey(t testing.TB) string {
	t.Helper()
	return newKey(t, s.keys.Create)
}

func (s *testServer) createReadOnlyKey(t testing.TB) string {
	t.Helper()
	return newKey(t, s.keys.CreateReadOnly)
}

// newKey returns a key that never expires, from a method of usecase.Keys.
func newKey(t testing.TB, create func(ctx context.Context, name string, lifetime time.Duration) (string, error)) string {
	t.Helper()
	key, err := create(context.Background(), "test", 0)
	if err != nil {
		t.Fatal(err)
	}
	return key
}

// options returns the options of the API on the store.
func (s *testServer) options() rest.Options {
	return rest.Options{
		Pets:   usecase.NewPets(s.store, s.store.Pets(), s.clock.now),
		Orders: usecase.NewOrders(s.store, s.store.Orders(), s.clock.now),
		Keys:   s.keys, Changes: s.changes,
		Now: s.clock.now, Logger: s.logger, Versions: s.store.Versions, CacheBytes: 1 << 20,
	}
}

func (s *testServer) api(t testing.TB, options ...option) *rest.API {
	t.Helper()
	o := s.options()
	for _, option := range options {
		option(&o)
	}
	api, err := rest.New(o)
	if err != nil {
		t.Fatal(err)
	}
	return api
}

func (s *testServer) engine(t testing.TB, proxies []string, options ...option) *gin.Engine {
	t.Helper()
	engine, err := server.NewEngine(s.api(t, options...), s.health, proxies)
	if err != nil {
		t.Fatal(err)
	}
	return engine
}

// start serves handler with httptest. The client follows no redirects.
func (s *testServer) start(t *testing.T, handler http.Handler) {
	t.Helper()
	server := httptest.NewServer(handler)
	t.Cleanup(server.Close)
	s.url, s.client = server.URL, server.Client()
	s.client.Timeout = 30 * time.Second
	s.client.CheckRedirect = func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }
}

// startHost serves an API that a host has mounted on its engine.
func (s *testServer) startHost(t *testing.T, engine *gin.Engine, api *rest.API, middleware ...gin.HandlerFunc) {
	t.Helper()
	if err := api.Mount(engine.Group(s.prefix), middleware...); err != nil {
		t.Fatal(err)
	}
	s.start(t, engine)
}

// longTimeouts do not expire in a test.
var longTimeouts = server.Timeouts{
	ReadHeader: time.Minute, Read: time.Minute, Write: time.Minute, Idle: time.Minute, Shutdown: time.Minute,
}

// serve serves handler with server.Serve until the test ends, and expects no error of it.
func (s *testServer) serve(t *testing.T, handler http.Handler, timeouts server.Timeouts) {
	t.Helper()
	stop, served := s.serveUntil(t, handler, timeouts)
	t.Cleanup(func() {
		stop()
		if err := <-served; err != nil {
			t.Error(err)
		}
	})
}

// serveUntil serves handler with server.Serve until stop is called. The result of Serve is
// sent to served.
func (s *testServer) serveUntil(t *testing.T, handler http.Handler, timeouts server.Timeouts) (stop context.CancelFunc, served <-chan error) {
	t.Helper()
	listener := listenLoopback(t)
	ctx, stop := context.WithCancel(context.WithoutCancel(t.Context()))
	result := make(chan error, 1)
	go func() { result <- server.Serve(ctx, server.LazyDeadlines(listener), handler, timeouts, s.logger) }()
	transport := &http.Transport{}
	t.Cleanup(transport.CloseIdleConnections)
	s.url, s.client = "http://"+listener.Addr().String(), &http.Client{Transport: transport, Timeout: 30 * time.Second}
	return stop, result
}

func listenLoopback(t *testing.T) net.Listener {
	t.Helper()
	listener, err := new(net.ListenConfig).Listen(t.Context(), "tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { listener.Close() })
	return listener
}

// createPets inserts pets in one transaction and returns them with their ids.
func (s *testServer) createPets(t testing.TB, newPets ...domain.NewPet) []domain.Pet {
	t.Helper()
	pets := make([]domain.Pet, len(newPets))
	err := s.store.InTx(t.Context(), func(ctx context.Context, r port.Repositories) (err error) {
		for i, pet := range newPets {
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

func newPets(n int, status domain.PetStatus) []domain.NewPet {
	return slices.Repeat([]domain.NewPet{{Name: "Rex", CategoryID: 7, Status: status}}, n)
}

// removeTable makes statements on a table fail.
func (s *testServer) removeTable(t *testing.T, name string) {
	t.Helper()
	s.database.Exec(t, "ALTER TABLE "+name+" RENAME TO removed_"+name)
}

// whileStoreBusy calls f during a transaction of another caller.
func (s *testServer) whileStoreBusy(t *testing.T, f func()) {
	t.Helper()
	err := s.store.InTx(t.Context(), func(context.Context, port.Repositories) error {
		f()
		return nil
	})
	if err != nil {
		t.Error(err)
	}
}

func withGet(get func(ctx context.Context, id int64) (domain.Pet, error)) option {
	return func(o *rest.Options) { o.Pets = petsWithGet{o.Pets, get} }
}

type petsWithGet struct {
	rest.Pets
	get func(ctx context.Context, id int64) (domain.Pet, error)
}

func (p petsWithGet) Get(ctx context.Context, id int64) (domain.Pet, error) { return p.get(ctx, id) }

func withCreate(create func(ctx context.Context) (domain.Pet, error)) option {
	return func(o *rest.Options) { o.Pets = petsWithCreate{o.Pets, create} }
}

type petsWithCreate struct {
	rest.Pets
	create func(ctx context.Context) (domain.Pet, error)
}

func (p petsWithCreate) Create(ctx context.Context, _ domain.NewPet, _ domain.IdempotencyKey) (domain.Pet, bool, error) {
	created, err := p.create(ctx)
	return created, false, err
}

// A blockingGet is a Pets.Get that blocks until release is closed or the context ends.
// Each call sends to started.
type blockingGet struct{ started, release chan struct{} }

func newBlockingGet() blockingGet { return blockingGet{make(chan struct{}, 1), make(chan struct{})} }

func (b blockingGet) get(ctx context.Context, id int64) (domain.Pet, error) {
	b.started <- struct{}{}
	select {
	case <-b.release:
		return domain.Pet{ID: id, Name: "Rex", CategoryID: 7}, nil
	case <-ctx.Done():
		return domain.Pet{}, domain.Unavailable(ctx.Err())
	}
}

// withBlockingKeys replaces Keys.Authenticate by a call that blocks until the context ends.
func withBlockingKeys(s *rest.Options) { s.Keys = blockingKeys{} }

type blockingKeys struct{}

func (blockingKeys) Authenticate(ctx context.Context, _ string) (apikey.Key, error) {
	<-ctx.Done()
	return apikey.Key{}, domain.Unavailable(ctx.Err())
}

// dial connects to the server and writes data. Responses must come before longTimeouts end.
func (s *testServer) dial(t *testing.T, data string) net.Conn {
	t.Helper()
	conn, err := new(net.Dialer).DialContext(t.Context(), "tcp", strings.TrimPrefix(s.url, "http://"))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { conn.Close() })
	if err := conn.SetDeadline(time.Now().Add(longTimeouts.Read / 2)); err != nil {
		t.Fatal(err)
	}
	if _, err := conn.Write([]byte(data)); err != nil {
		t.Fatal(err)
	}
	return conn
}

// rawPost returns the text of a POST of a pet, with header lines and body as given.
func (s *testServer) rawPost(header, body string) string {
	return "POST /v1/pets HTTP/1.1\r\nHost: petstore\r\nAuthorization: Bearer " + s.key +
		"\r\nContent-Type: application/json\r\n" + header + "\r\n\r\n" + body
}

// expectFrom reads the response to a POST of a pet from a connection and checks it as
// expect does.
func (s *testServer) expectFrom(t *testing.T, conn net.Conn, want wantResponse) {
	t.Helper()
	req, err := http.NewRequestWithContext(t.Context(), http.MethodPost, s.url+"/v1/pets", nil)
	if err != nil {
		t.Fatal(err)
	}
	httpResponse, err := http.ReadResponse(bufio.NewReader(conn), req)
	if err != nil {
		t.Fatal(err)
	}
	res, err := readBody(httpResponse)
	if err != nil {
		t.Fatal(err)
	}
	s.checkCommonRules(t, res)
	res.check(t, want)
}

func waitUntil(t *testing.T, name string, condition func() bool) {
	t.Helper()
	for start := time.Now(); !condition(); time.Sleep(time.Millisecond) {
		if time.Since(start) > 20*time.Second {
			t.Fatalf("timed out waiting until %s", name)
		}
	}
}
