package petstore_test

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"time"
	"unicode"
	"unicode/utf8"

	"github.com/gin-gonic/gin"
	"go.uber.org/zap"
	"go.uber.org/zap/zapcore"

	"example.com/petstore"
	rest "example.com/petstore/delivery/http"
	"example.com/petstore/delivery/http/swagger"
	"example.com/petstore/docs"
	"example.com/petstore/domain"
	"example.com/petstore/repository/sqlite"
)

// Mount the API on an engine of the host, under a prefix and after middleware. For unknown paths and
// unsupported methods, the engine returns errors in the format of the API.
func Example() {
	service, remove := openService(petstore.Options{})
	defer remove()
	key, err := service.Keys().Create(context.Background(), "example", 0, "")
	if err != nil {
		panic(err)
	}

	engine := gin.New()
	engine.Use(func(c *gin.Context) { c.Header("X-Team", "animals") })
	if err := service.Mount(engine.Group("/shop/v1")); err != nil {
		panic(err)
	}

	engine.HandleMethodNotAllowed = true
	engine.NoRoute(rest.NotFound)
	engine.NoMethod(rest.MethodNotAllowed)

	request := httptest.NewRequest(http.MethodPost, "/shop/v1/pets", strings.NewReader(`{"name":"Rex","categoryId":7}`))
	request.Header.Set("Authorization", "Bearer "+key)
	request.Header.Set("Content-Type", "application/json")
	printResponse(engine, request, "X-Team", "Location")
	printResponse(engine, httptest.NewRequest(http.MethodPut, "/shop/v1/pets/1", http.NoBody), "Allow")
	// Output:
	// 201 animals ./pets/1
	// {"id":1,"name":"Rex","categoryId":7}
	// 405 GET, HEAD, PATCH, DELETE, OPTIONS
	// {"code":"method_not_allowed","message":"this path does not support the method PUT, only GET, HEAD, PATCH, DELETE, OPTIONS","status":405}
}

// The document has the title and the authentication of the host. The address of the API is relative to the
// address of the document.
func Example_documentation() {
	service, remove := openService(petstore.Options{
		API: rest.Options{Authenticate: func(c *gin.Context) (string, error) { return c.Cookie("session") }},
		Document: docs.Options{
			Title:          "Animals of the shop",
			SecurityScheme: map[string]any{"type": "apiKey", "in": "cookie", "name": "session"},
		},
	})
	defer remove()

	engine := gin.New()
	if err := service.Mount(engine.Group("/shop/v1")); err != nil {
		panic(err)
	}
	if err := swagger.Mount(engine.Group("/shop/docs"), service); err != nil {
		panic(err)
	}

	recorder := httptest.NewRecorder()
	engine.ServeHTTP(recorder, httptest.NewRequest(http.MethodGet, "https://pets.example/shop/docs/openapi.json", http.NoBody))
	for line := range strings.Lines(recorder.Body.String()) {
		if strings.Contains(line, `"title": "Animals`) || strings.Contains(line, `"url": ".`) || strings.Contains(line, "session") {
			fmt.Println(strings.TrimSpace(line))
		}
	}
	// Output:
	// "title": "Animals of the shop",
	// "url": "../v1"
	// "name": "session",
}

// Log by log/slog. The access log and the causes of failures go to the handler of the host.
func ExampleNewLogger() {
	handler := slog.NewTextHandler(os.Stdout, &slog.HandlerOptions{ReplaceAttr: func(_ []string, a slog.Attr) slog.Attr {
		if a.Key == slog.TimeKey || a.Key == "duration" { // differ in each run
			return slog.Attr{}
		}
		return a
	}})
	requestLogged(petstore.NewLogger(handler))
	// Output:
	// level=INFO msg=request caller=ann client=192.0.2.1 method=GET request_id=r1 route=/v1/pets status=200
}

// Log by zap.
func ExampleOptions_logger() {
	format := zapcore.EncoderConfig{MessageKey: "msg"}
	format.EncodeDuration = func(_ time.Duration, to zapcore.PrimitiveArrayEncoder) { to.AppendString("…") } // differs in each run
	requestLogged(zap.New(zapcore.NewCore(zapcore.NewJSONEncoder(format), os.Stdout, zap.InfoLevel)))
	// Output:
	// {"msg":"request","request_id":"r1","method":"GET","route":"/v1/pets","status":200,"duration":"…","caller":"ann","client":"192.0.2.1"}
}

// requestLogged sends a request to a service with a logger.
func requestLogged(logger *zap.Logger) {
	service, remove := openService(petstore.Options{API: rest.Options{
		Logger:       logger,
		Authenticate: func(*gin.Context) (string, error) { return "ann", nil },
	}})
	defer remove()
	engine := gin.New()
	if err := service.Mount(engine.Group("/v1")); err != nil {
		panic(err)
	}
	request := httptest.NewRequest(http.MethodGet, "/v1/pets", http.NoBody)
	request.Header.Set("X-Request-Id", "r1")
	engine.ServeHTTP(httptest.NewRecorder(), request)
}

// Serve the changes of animals and orders. Shutdown waits for streams of changes, so EndStreams ends them.
func ExampleService_Changes() {
	service, remove := openService(petstore.Options{
		API: rest.Options{Authenticate: func(*gin.Context) (string, error) { return "example", nil }},
	})
	defer remove()
	engine := gin.New()
	if err := service.Mount(engine.Group("/v1")); err != nil {
		panic(err)
	}

	server := httptest.NewUnstartedServer(engine)
	rest.EndStreams(server.Config)
	server.Start()
	request, err := http.NewRequestWithContext(context.Background(), http.MethodGet, server.URL+"/v1/changes", http.NoBody)
	if err != nil {
		panic(err)
	}
	request.Header.Set("Accept", "text/event-stream")
	stream, err := server.Client().Do(request)
	if err != nil {
		panic(err)
	}
	defer stream.Body.Close()
	fmt.Println(stream.Status, server.Config.Shutdown(context.Background()))
	// Output:
	// 200 OK <nil>
}

// Replace API keys by sessions of the host. Its middleware stores who the user is. The Authenticator
// decides, and returns errors in the format of the API. The name that it returns is logged as the caller
// and separates idempotency keys.
func ExampleNew_authenticate() {
	service, remove := openService(petstore.Options{API: rest.Options{Authenticate: authenticate}})
	defer remove()

	users := map[string]string{"a-secret-session": "user 42", "another-session": "guest"}
	signIn := func(c *gin.Context) {
		session, _ := c.Cookie("session")
		c.Set("user", users[session])
	}
	engine := gin.New()
	if err := service.Mount(engine.Group("/v1"), signIn); err != nil {
		panic(err)
	}

	for _, session := range []string{"", "another-session", "a-secret-session"} {
		request := httptest.NewRequest(http.MethodPost, "/v1/pets", strings.NewReader(`{"name":"Rex","categoryId":7}`))
		request.Header.Set("Content-Type", "application/json")
		request.AddCookie(&http.Cookie{Name: "session", Value: session})
		printResponse(engine, request)
	}
	// Output:
	// 401
	// {"code":"unauthenticated","message":"sign in first","status":401}
	// 403
	// {"code":"forbidden","message":"guests may only read","status":403}
	// 201
	// {"id":1,"name":"Rex","categoryId":7}
}

// authenticate lets users of the host use the API, and guests only read.
func authenticate(c *gin.Context) (caller string, err error) {
	user := c.GetString("user")
	if user == "" {
		return "", domain.Unauthenticated("sign in first")
	}
	if user == "guest" && !rest.IsSafe(c.Request.Method) {
		return user, domain.Forbidden("guests may only read")
	}
	return user, nil
}

// Use the catalogue from Go code, and follow the changes that any user makes.
func ExampleService_Follow() {
	service, remove := openService(petstore.Options{})
	defer remove()
	ctx, stop := context.WithCancel(context.Background())
	defer stop()

	key := domain.IdempotencyKey{Caller: "deliveries", Value: "2026-0815"}
	pet, replayed, err := service.Pets().Create(ctx, domain.NewPet{Name: "Rex", CategoryID: 7}, key)
	if err != nil {
		panic(err)
	}
	fmt.Println(pet.ID, pet.Name, replayed)

	if _, _, err := service.Orders().Place(ctx, pet.ID, domain.IdempotencyKey{}); err != nil {
		panic(err)
	}

	shop := &shop{stop: stop}
	err = service.Follow(ctx, shop.position, func(ctx context.Context, change domain.Change) error {
		return shop.handle(ctx, change) // and store change.Seq in the same transaction
	})
	fmt.Println(err)
	// Output:
	// 1 Rex false
	// pet.added
	// pet.updated
	// order.placed
	// context canceled
}

// Begin again after an ErrExpired. Position 1 was never given out, which is also so for a position from before a restore.
func ExampleService_Follow_expired() {
	service, remove := openService(petstore.Options{})
	defer remove()
	ctx, stop := context.WithCancel(context.Background())
	defer stop()
	pet, _, err := service.Pets().Create(ctx, domain.NewPet{Name: "Rex", CategoryID: 7}, domain.IdempotencyKey{})
	if err != nil {
		panic(err)
	}

	shop := &shop{position: 1, stop: stop}
	err = service.Follow(ctx, shop.position, shop.handle)
	fmt.Println(errors.Is(err, domain.ErrExpired))
	if err := shop.copyAll(ctx, service); err != nil {
		panic(err)
	}
	fmt.Println(shop.names)
	if _, _, err := service.Orders().Place(ctx, pet.ID, domain.IdempotencyKey{}); err != nil {
		panic(err)
	}
	fmt.Println(service.Follow(ctx, shop.position, shop.handle))
	// Output:
	// true
	// map[1:Rex]
	// pet.updated
	// order.placed
	// context canceled
}

// A shop is a host that follows the changes until an order is placed.
type shop struct {
	position int64 // the Seq of the last change that was handled
	names    map[int64]string
	stop     func()
}

// copyAll replaces all names and the position. Changes that are made meanwhile follow the position.
func (s *shop) copyAll(ctx context.Context, service *petstore.Service) error {
	position, err := service.Changes().Latest(ctx)
	if err != nil {
		return err
	}
	names := map[int64]string{}
	for pet, err := range service.Pets().All(ctx, domain.PetQuery{}) {
		if err != nil {
			return err
		}
		names[pet.ID] = pet.Name
	}
	s.names, s.position = names, position // with tables, in one transaction
	return nil
}

func (s *shop) handle(_ context.Context, change domain.Change) error {
	fmt.Println(change.Type)
	s.position = change.Seq
	if change.Type == domain.ChangeOrderPlaced {
		s.stop()
	}
	return nil
}

// Add rules of the host for the animals.
func ExampleOptions_validate() {
	service, remove := openService(petstore.Options{Validate: validate})
	defer remove()
	_, _, err := service.Pets().Create(context.Background(), domain.NewPet{Name: "rex", CategoryID: 7}, domain.IdempotencyKey{})
	fmt.Println(err, errors.Is(err, domain.ErrInvalid))
	// Output:
	// name must begin with a capital letter true
}

// validate has the rules of the shop for names.
func validate(_ context.Context, pet domain.NewPet) (violations []domain.Violation) {
	if first, _ := utf8.DecodeRuneInString(pet.Name); !unicode.IsUpper(first) {
		violations = append(violations, domain.Violation{Field: "name", Rule: "must begin with a capital letter"})
	}
	return violations
}

// Test a host on a store in a temporary folder, at another time, and without the store.
func TestKeyExpires(t *testing.T) {
	var ahead atomic.Int64 // how far the clock of the service is ahead, in nanoseconds
	service, err := petstore.New(t.Context(), sqlite.New(filepath.Join(t.TempDir(), "pets.db")), petstore.Options{
		Now: func() time.Time { return time.Now().Add(time.Duration(ahead.Load())) },
		API: rest.Options{CacheBytes: -1}, // cached pages would be sent without the store
	})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { service.Close() })
	engine := gin.New()
	if err := service.Mount(engine); err != nil {
		t.Fatal(err)
	}
	key, err := service.Keys().Create(t.Context(), "test", time.Hour, "")
	if err != nil {
		t.Fatal(err)
	}
	wantStatus := func(want int) {
		t.Helper()
		request := httptest.NewRequestWithContext(t.Context(), http.MethodGet, "/pets", http.NoBody)
		request.Header.Set("Authorization", "Bearer "+key)
		response := httptest.NewRecorder()
		if engine.ServeHTTP(response, request); response.Code != want {
			t.Errorf("got %d, want %d", response.Code, want)
		}
	}
	wantStatus(http.StatusOK)
	ahead.Store(int64(time.Hour))
	wantStatus(http.StatusUnauthorized)
	ahead.Store(0)
	service.Close()
	wantStatus(http.StatusServiceUnavailable)
}

// openService opens a service with a store in a temporary directory. remove closes and deletes it.
func openService(o petstore.Options) (service *petstore.Service, remove func()) {
	dir, err := os.MkdirTemp("", "petstore")
	if err != nil {
		panic(err)
	}
	service, err = petstore.New(context.Background(), sqlite.New(filepath.Join(dir, "pets.db")), o)
	if err != nil {
		panic(err)
	}
	return service, func() { service.Close(); os.RemoveAll(dir) }
}

// printResponse prints the status, the given headers and the body of a response.
func printResponse(engine http.Handler, request *http.Request, headers ...string) {
	recorder := httptest.NewRecorder()
	engine.ServeHTTP(recorder, request)
	line := []any{recorder.Code}
	for _, header := range headers {
		line = append(line, recorder.Result().Header.Get(header))
	}
	fmt.Println(line...)
	fmt.Println(recorder.Body)
}
