package http_test

import (
	"context"
	"errors"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"net/url"
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
	"example.com/petstore/domain"
	"example.com/petstore/domain/apikey"
	"example.com/petstore/internal/port"
	"example.com/petstore/internal/server"
	"example.com/petstore/internal/test/enginetest"
	"example.com/petstore/internal/test/testkit"
	"example.com/petstore/repository"
	"example.com/petstore/usecase"
)

func TestShutdownClosesConnectionsAfterTimeout(t *testing.T) {
	t.Parallel()
	s, started, timeouts := newUnstartedServer(t), make(chan struct{}), longTimeouts
	timeouts.Shutdown = 50 * time.Millisecond
	stop, served := s.serve(t, s.engine(t, withCall(func(ctx context.Context) error { close(started); return untilDone(ctx) })), timeouts)
	go func() { <-started; stop() }()
	if res, err := s.send(t.Context(), get("/v1/pets/42")); err == nil && res.StatusCode != 503 {
		t.Errorf("got %d, want that the running request fails", res.StatusCode)
	}
	if err := <-served; !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("Serve returned %v, want %v", err, context.DeadlineExceeded)
	}
	s.wantAccessLog(t, 503)
}

func TestStartupHandlerIsUnavailableUntilReady(t *testing.T) {
	t.Parallel()
	s := newUnstartedServer(t)
	o := apiOptions{Options: rest.Options{Logger: s.logger}}
	allowOrigin(&o)
	startup, err := server.NewStartupHandler([]string{"127.0.0.0/8"}, o.Options)
	check(t, err)
	s.start(t, startup)
	s.expectOnly(t, get("/v1/pets", "X-Forwarded-For: 203.0.113.9"), rejected(503, "unavailable"))
	if line := s.accessLog(t)[0]; line["client"] != "203.0.113.9" {
		t.Errorf("got line %v, want the client behind a trusted proxy", line)
	}
	unavailable := rejected(503, "unavailable").withHeader("Retry-After: 1")
	s.expectOnly(t, get("/livez", "-Authorization"), ok(`{"status":"alive"}`))
	for _, r := range []request{get("/readyz"), get("/v1/pets"), get("/v1/pets", "-Authorization"), postPet(`{"name":"Rex"}`), get("/nowhere")} {
		r.header = append(r.header, allowedOrigin)
		s.expectOnly(t, r, unavailable.withHeader(originAllowed, "Vary: Origin"))
	}
	s.expectOnly(t, newRequest(http.MethodDelete, "/livez"), unavailable)
	s.expectOnly(t, get("/v1/pets/1", otherOrigin), unavailable.withHeader(deprecationHeaders(1)...).withHeader(originNotAllowed))
	// After a preflight, a browser sends the request only if the preflight has a 2xx status (Fetch, section
	// 4.8).
	s.expectOnly(t, newRequest(http.MethodOptions, "/v1/pets", "-Authorization", allowedOrigin, requestMethodPost, requestHeaders), preflightAllowed)
	startup.SetHandler(s.engine(t))
	s.expect(t, get("/readyz"), ok(`{"status":"ready"}`))
	s.expect(t, get("/v1/pets"), ok(`[]`))

	s.health.Drain()
	s.expect(t, get("/readyz"), unavailable)
	s.expect(t, newRequest("HEAD", "/readyz"), wantResponse{status: 503})
	s.expect(t, get("/livez"), ok(`{"status":"alive"}`))
	if failures := s.log.FilterMessage("the store is not available").Len(); failures != 0 {
		t.Errorf("got %d failures in the log, want none", failures)
	}
	_, err = server.NewStartupHandler([]string{"proxy.example"}, o.Options)
	if _, engineErr := server.NewEngine(s.api(t), s.health, []string{"proxy.example"}); err == nil || engineErr == nil {
		t.Errorf("got the errors %v and %v, want some for a proxy that is neither an address nor a network", err, engineErr)
	}
}

func TestMain(m *testing.M) {
	gin.SetMode(gin.TestMode)
	goleak.VerifyTestMain(enginetest.WithDatabases(m))
}

var check = testkit.Check

// searchWindow is how many animals a page of a search reads.
const searchWindow = 200

// noon is the initial time of each test clock.
var noon = time.Date(2026, time.November, 20, 12, 0, 0, 0, time.UTC)

// A clock is a time that changes only when set.
type clock struct{ millis atomic.Int64 }

func (c *clock) set(t time.Time)         { c.millis.Store(t.UnixMilli()) }
func (c *clock) advance(d time.Duration) { c.millis.Add(d.Milliseconds()) }
func (c *clock) now() time.Time          { return time.UnixMilli(c.millis.Load()) }

// A logClock is a clock as a zapcore.Clock.
type logClock struct{ clock *clock }

func (c logClock) Now() time.Time                         { return c.clock.now() }
func (c logClock) NewTicker(d time.Duration) *time.Ticker { return time.NewTicker(d) }

// A testServer is the API with its use cases on a database of its own, on a loopback address.
type testServer struct {
	url      string // the URL of the server
	prefix   string // the prefix of the API
	key      string // a valid API key
	database enginetest.Database
	store    *repository.Store
	keys     *usecase.Keys
	changes  *usecase.Changes
	health   *server.Health
	clock    *clock
	log      *observer.ObservedLogs
	logger   *zap.Logger
	client   *http.Client
	metrics  *prometheus.Registry // the metrics of the last API
	handler  *gin.Engine          // the handler of newFuzzServer
}

// newTestServer returns a server that runs until the test ends.
func newTestServer(t *testing.T, options ...option) *testServer {
	t.Helper()
	s := newUnstartedServer(t)
	s.start(t, s.engine(t, options...))
	return s
}

// apiOptions are what a test may set of an API.
type apiOptions struct {
	rest.Service
	rest.Options
}

// An option changes the options of the API of a testServer.
type option = func(*apiOptions)

func withRateLimit(requests int, window time.Duration) option {
	return func(o *apiOptions) { o.RateLimit = rest.RateLimit{Requests: requests, Window: window} }
}

func withRequestTimeout(timeout time.Duration) option {
	return func(o *apiOptions) { o.RequestTimeout = timeout }
}

func withAuthenticator(authenticate rest.Authenticator) option {
	return func(o *apiOptions) { o.Authenticate = authenticate }
}

// withoutOthers keeps pages in memory until a change of this process. Otherwise a page of a SQLite store is read again when the
// machine is so slow that the store does not know whether another process has changed it.
func withoutOthers(o *apiOptions) {
	numbers := o.Numbers
	o.Numbers = func(ctx context.Context) (domain.Numbers, error) {
		latest, err := numbers(ctx)
		latest.Generation = 0
		return latest, err
	}
}

// withCall makes getPet and createPet return Rex, or the error of call.
func withCall(call func(context.Context) error) option {
	return func(o *apiOptions) { o.Pets = callingPets{o.Pets, call} }
}

type callingPets struct {
	rest.Pets
	call func(context.Context) error
}

func (p callingPets) List(ctx context.Context, q domain.PetQuery) (domain.Page[domain.Pet], error) {
	if q.IDs == nil {
		return p.Pets.List(ctx, q)
	}
	return domain.Page[domain.Pet]{Items: []domain.Pet{{ID: 1, Name: "Rex", CategoryID: 7}}}, p.call(ctx)
}

func (p callingPets) Create(ctx context.Context, _ domain.NewPet, _ domain.IdempotencyKey) (domain.Pet, bool, error) {
	return domain.Pet{ID: 1, Name: "Rex", CategoryID: 7}, false, p.call(ctx)
}

// untilDone is a call that blocks until the context of its request ends.
func untilDone(ctx context.Context) error {
	<-ctx.Done()
	return domain.Unavailable(ctx.Err())
}

// newUnstartedServer returns a testServer without an HTTP server, for start or serve.
func newUnstartedServer(t testing.TB, o ...repository.Options) *testServer {
	t.Helper()
	s := &testServer{prefix: "/v1", database: enginetest.New(t), clock: &clock{}}
	s.clock.set(noon)
	core, log := observer.New(zap.DebugLevel)
	s.logger, s.log = zap.New(core, zap.WithClock(logClock{s.clock})), log

	options := append(o, repository.Options{})[0]
	options.SearchWindow = searchWindow
	store, err := repository.Open(context.Background(), s.database.Engine(), options)
	check(t, err)
	t.Cleanup(func() { check(t, store.Close()) })
	s.store = store
	s.health = server.NewHealth(store.Ping)
	s.keys = usecase.NewKeys(store, store.Keys(), s.clock.now)
	s.changes = usecase.NewChanges(store, store.Changes(), s.clock.now)
	s.key = newKey(t, s.keys, "")
	return s
}

// newKey returns a key that never expires.
func newKey(t testing.TB, keys *usecase.Keys, scopes apikey.Scopes) string {
	t.Helper()
	key, err := keys.Create(context.Background(), "test", 0, scopes)
	check(t, err)
	return key
}

// api returns the API on the store. Its streams of changes check their authorization often.
func (s *testServer) api(t testing.TB, options ...option) *rest.API {
	t.Helper()
	s.metrics = prometheus.NewRegistry()
	o := apiOptions{
		rest.Service{
			Pets:   usecase.NewPets(s.store, s.store.Pets()),
			Orders: usecase.NewOrders(s.store, s.store.Orders(), s.clock.now),
			Keys:   s.keys, Categories: usecase.NewCategories(s.store, s.store.Categories()), Changes: s.changes,
			Numbers: s.store.Numbers, Now: s.clock.now,
		},
		rest.Options{Logger: s.logger, Metrics: s.metrics, CacheBytes: 1 << 20},
	}
	for _, option := range options {
		option(&o)
	}
	api, err := rest.New(o.Service, o.Options)
	check(t, err)
	api.SetStreamTimes(10*time.Millisecond, 10*time.Second)
	return api
}

func (s *testServer) engine(t testing.TB, options ...option) *gin.Engine {
	t.Helper()
	engine, err := server.NewEngine(s.api(t, options...), s.health, nil)
	check(t, err)
	return engine
}

// start serves handler with httptest. The client does not follow redirects.
func (s *testServer) start(t *testing.T, handler http.Handler) {
	t.Helper()
	server := httptest.NewServer(handler)
	t.Cleanup(server.Close)
	s.url, s.client = server.URL, server.Client()
	s.client.Timeout = 30 * time.Second
	s.client.CheckRedirect = func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }
}

// startHost serves an API on the engine of a host.
func (s *testServer) startHost(t *testing.T, engine *gin.Engine, api *rest.API, middleware ...gin.HandlerFunc) {
	t.Helper()
	check(t, api.Mount(engine.Group(s.prefix), middleware...))
	s.start(t, engine)
}

// longTimeouts do not expire in a test.
var longTimeouts = server.Timeouts{
	ReadHeader: time.Minute, Read: time.Minute, Write: time.Minute, Idle: time.Minute, Shutdown: time.Minute,
}

// serve serves handler with server.Serve until stop is called or the test ends. If Serve returns an error
// that the test does not receive from served, the test fails.
func (s *testServer) serve(t *testing.T, handler http.Handler, timeouts server.Timeouts) (stop context.CancelFunc, served <-chan error) {
	t.Helper()
	listener, err := new(net.ListenConfig).Listen(t.Context(), "tcp", "127.0.0.1:0")
	check(t, err)
	ctx, stop := context.WithCancel(context.Background())
	result, transport := make(chan error, 1), &http.Transport{}
	go func() {
		result <- server.Serve(ctx, listener, handler, timeouts, s.logger)
		close(result)
	}()
	t.Cleanup(func() {
		transport.CloseIdleConnections()
		stop()
		check(t, <-result)
	})
	s.url, s.client = "http://"+listener.Addr().String(), &http.Client{Transport: transport, Timeout: 30 * time.Second}
	return stop, result
}

func (s *testServer) createPets(t testing.TB, pets ...domain.NewPet) {
	t.Helper()
	err := s.store.InTx(t.Context(), func(ctx context.Context, r port.Repositories) error {
		_, err := r.Pets.Create(ctx, pets)
		return err
	})
	check(t, err)
}

func newPets(n int, status domain.PetStatus) []domain.NewPet {
	return slices.Repeat([]domain.NewPet{{Name: "Rex", CategoryID: 7, Status: status}}, n)
}

// removeTable makes statements on a table fail.
func (s *testServer) removeTable(t *testing.T, name string) {
	t.Helper()
	s.database.Exec(t, "ALTER TABLE "+name+" RENAME TO removed_"+name)
}

// waitUntilInvalid waits until a key that was revoked is rejected. Every process remembers a key for repository.MaxKeyAge.
func (s *testServer) waitUntilInvalid(t *testing.T, authorization string) {
	t.Helper()
	testkit.WaitUntilWithin(t, 5*time.Second, "the key is rejected", func() bool {
		res, err := s.send(t.Context(), get("/v1/pets", authorization))
		check(t, err)
		return res.StatusCode == http.StatusUnauthorized
	})
}

func waitUntil(t *testing.T, name string, condition func() bool) {
	t.Helper()
	for start := time.Now(); !condition(); time.Sleep(time.Millisecond) {
		if time.Since(start) > time.Minute {
			t.Fatalf("timed out waiting until %s", name)
		}
	}
}

// newFuzzServer returns a testServer whose handler is called without a network.
func newFuzzServer(f *testing.F) *testServer {
	f.Helper()
	s := newUnstartedServer(f)
	s.handler = s.engine(f)
	return s
}

// roundTrip serves a request, also one that net/http would not send. A status of 500 or more fails the
// test.
func (s *testServer) roundTrip(t *testing.T, method, path, query, body string, header http.Header) *httptest.ResponseRecorder {
	t.Helper()
	header.Set("Authorization", "Bearer "+s.key)
	header.Set("Content-Type", "application/json")
	w := httptest.NewRecorder()
	s.handler.ServeHTTP(w, &http.Request{
		Method: method, URL: &url.URL{Path: path, RawQuery: query}, Header: header,
		Body: io.NopCloser(strings.NewReader(body)), RemoteAddr: "127.0.0.1:1",
	})
	if w.Code >= http.StatusInternalServerError {
		t.Fatalf("got status %d: %s\n%v", w.Code, w.Body, s.log.TakeAll())
	}
	s.log.TakeAll() // limits the memory of the log
	return w
}

// wantError expects an error with a code. If rules is not nil, the message must have exactly these rules. An
// element of rules may also be the beginning of a rule, such as the name of a field.
func wantError(t *testing.T, w *httptest.ResponseRecorder, code string, rules []string) {
	t.Helper()
	e := decodeError(t, w.Body.Bytes())
	if e.Code != code || e.Status != w.Code || w.Code != publishedCodes[code] || w.Header().Get("Location") != "" {
		t.Fatalf("got %d %s, want %s", w.Code, w.Body, code)
	}
	got := strings.Split(e.Message, "; ")
	slices.Sort(got)
	slices.Sort(rules)
	if rules != nil && !slices.EqualFunc(got, rules, strings.HasPrefix) {
		t.Fatalf("got the rules %q, want %q", got, rules)
	}
}
