package http_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/gin-gonic/gin"
	"github.com/google/go-cmp/cmp"
	"go.uber.org/zap"
	"go.uber.org/zap/zapcore"

	"example.com/petstore/domain"
	"example.com/petstore/domain/apikey"
	"example.com/petstore/internal/port"
	"example.com/petstore/internal/server"
	"example.com/petstore/repository"
)

func TestClientDisconnectIsRecordedAs499(t *testing.T) {
	t.Parallel()
	closeWrite := func(c net.Conn) error { return c.(*net.TCPConn).CloseWrite() }
	for name, test := range map[string]struct {
		disconnect func(net.Conn) error
		err        error
		status     int64
		level      zapcore.Level
		message    string
	}{
		"closed":      {net.Conn.Close, context.Canceled, 499, zap.DebugLevel, "the client disconnected"},
		"half closed": {closeWrite, context.Canceled, 499, zap.DebugLevel, "the client disconnected"},
		"later error": {net.Conn.Close, context.DeadlineExceeded, 503, zap.ErrorLevel, "the store is not available"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s, started := newUnstartedServer(t), make(chan struct{})
			engine := gin.New()
			engine.Use(gin.RecoveryWithWriter(io.Discard)) // a middleware of a host
			s.startHost(t, engine, s.api(t, withCall(func(ctx context.Context) error {
				close(started)
				<-ctx.Done()
				return domain.Unavailable(test.err)
			})))
			conn := s.dial(t, "GET /v1/pets/1 HTTP/1.1\r\nHost: petstore\r\nAuthorization: Bearer "+s.key+"\r\n\r\n")
			<-started
			check(t, test.disconnect(conn))
			s.wantAccessLog(t, test.status)
			if got := s.log.FilterLevelExact(test.level).FilterMessage(test.message).Len(); got != 1 || s.log.Len() != 2 {
				t.Errorf("got log %v, want the access log line and %q", s.log.All(), test.message)
			}
			counts := map[string]int{fmt.Sprintf("GET /v1/pets/:petId %d", test.status): 1}
			if diff := cmp.Diff(counts, s.requestCounts(t)); diff != "" {
				t.Errorf("requests (-want +got):\n%s", diff)
			}
			if name == "half closed" {
				if received, err := io.ReadAll(conn); err != nil || len(received) > 0 {
					t.Errorf("received %q and error %v, want nothing", received, err)
				}
			}
		})
	}
}

// The timeout for reading a body does not matter once the body was read.
func TestClientDisconnectAfterTheTimeoutOfTheBodyIsRecordedAs499(t *testing.T) {
	t.Parallel()
	const timeout = time.Second // the key and the body are read in this time
	s, passed := newUnstartedServer(t), make(chan error, 1)
	s.startHost(t, gin.New(), s.api(t, withRequestTimeout(timeout), withCall(func(ctx context.Context) error {
		passed <- afterTimeout(timeout)(ctx)
		return untilDone(ctx)
	})))
	conn := s.dial(t, s.rawPost(fmt.Sprint("Content-Length: ", len(newRex)), newRex))
	check(t, <-passed)
	check(t, conn.Close())
	s.wantAccessLog(t, 499)
}

func TestUnknownErrorIsInternalErrorAndOnlyLogged(t *testing.T) {
	t.Parallel()
	expect := func(s *testServer, r request, cause string, hidden ...string) {
		t.Helper()
		res := s.expect(t, r, rejected(500, "internal_error").withoutText(hidden...))
		logged := s.log.FilterField(zap.String("request_id", res.Header.Get("X-Request-Id"))).FilterFieldKey("error").All()
		if len(logged) != 1 || !strings.Contains(fmt.Sprint(logged[0].ContextMap()["error"]), cause) {
			t.Errorf("got the log entries %v, want one with %q", logged, cause)
		}
	}
	var err error
	s := newTestServer(t, withAuthenticator(func(*gin.Context) (string, error) { return "ann", err }))
	for _, err = range []error{
		errors.New("hidden detail"),
		domain.ErrNotFound,
		&domain.Error{Kind: "hidden detail", Code: "hidden detail", Message: "hidden detail"},
		&domain.Error{Kind: domain.ErrUnauthenticated, Message: "hidden detail"},
	} {
		expect(s, get("/v1/pets"), err.Error(), "hidden detail")
	}
	s = newTestServer(t)
	for _, test := range []struct {
		table string
		request
	}{
		{"pets", get("/v1/pets")},
		{"orders", get("/v1/store/orders")},
		{"idempotency_keys", postPet(newRex, "Idempotency-Key: one")},
		{"api_keys", get("/v1/pets", "Authorization: Bearer "+apikey.Generate())}, // this key is not cached
	} {
		s.removeTable(t, test.table)
		expect(s, test.request, test.table, test.table+":", "table")
	}
}

func TestOutageOfTheStoreIsLoggedOnceInAMinute(t *testing.T) {
	t.Parallel()
	var failure error
	s := newUnstartedServer(t)
	s.health = server.NewHealth(func(context.Context) error { return failure })
	s.start(t, s.engine(t, withCall(func(context.Context) error { return failure })))
	failure = domain.Unavailable(errors.New("connection refused"))
	for range 2 {
		s.log.TakeAll()
		for _, r := range []request{get("/v1/pets/1"), postPet(newRex), get("/readyz"), postPet(newRex)} {
			s.expect(t, r, rejected(503, "unavailable").withHeader("Retry-After: 1").withoutText("refused"))
		}
		failures := s.log.FilterLevelExact(zap.ErrorLevel).All()
		if len(failures) != 1 || !strings.Contains(fmt.Sprint(failures[0].ContextMap()["error"]), "connection refused") {
			t.Errorf("got the log %v, want one error with the cause", failures)
		}
		s.clock.advance(time.Minute)
	}
}

func TestExceededDeadlineIsUnavailable(t *testing.T) {
	t.Parallel()
	unavailable := rejected(503, "unavailable").withoutText("deadline")
	s := newUnstartedServer(t, repository.Options{Timeout: 2 * time.Second})
	s.start(t, s.engine(t))
	err := s.store.InTx(t.Context(), func(context.Context, port.Repositories) error { // a request waits for this transaction
		s.expect(t, postPet(newRex, "Idempotency-Key: one"), unavailable)
		return nil
	})
	check(t, err)
	s.expect(t, get("/v1/pets"), ok(`[]`))
	s.expect(t, postPet(newRex, "Idempotency-Key: one"), created("").withHeader(notReplayed))
}

// For errors.Is, the cause of signal.NotifyContext is context.Canceled, as if the client had disconnected.
func TestRequestIsUnavailableWhenTheHostEndsItsContext(t *testing.T) {
	t.Parallel()
	s := newUnstartedServer(t)
	var end context.CancelCauseFunc
	s.startAfter(t, func(c *gin.Context) {
		var ctx context.Context
		ctx, end = context.WithCancelCause(c.Request.Context())
		c.Request = c.Request.WithContext(ctx)
	}, nil, withCall(func(ctx context.Context) error {
		end(fmt.Errorf("hangup: %w", context.Canceled))
		return untilDone(ctx)
	}))
	s.expect(t, get("/v1/pets/1"), rejected(503, "unavailable"))
	s.wantAccessLog(t, 503)
}

// The tests of requests compare the code of every response with the published codes.
func TestCodesMatchPublishedCodes(t *testing.T) {
	t.Parallel()
	var files []string
	for _, folder := range []string{"../../domain", "../../internal/binding", "."} {
		found, _ := filepath.Glob(folder + "/*.go") // the pattern is valid
		files = append(files, found...)
	}
	find := func(pattern string, files ...string) (codes []string) {
		for _, file := range files {
			text, err := os.ReadFile(file)
			if err != nil {
				t.Error(err)
			}
			for _, match := range regexp.MustCompile(pattern).FindAllSubmatch(text, -1) {
				codes = append(codes, string(match[1]))
			}
		}
		slices.Sort(codes)
		return codes
	}
	declared, published := find(`\s(?:domain\.)?Code\s+= "(.+)"\n`, files...), find("(?m)^\\| `(\\w+)` \\| \\d+ \\|", "../../docs/errors.md")
	if diff := cmp.Diff(published, declared); diff != "" || len(declared) < 15 {
		t.Errorf("codes (-published +declared):\n%s", diff)
	}
}

func TestStoreThatANewerProgramHasMigratedIsUnavailable(t *testing.T) {
	t.Parallel()
	s := newTestServer(t)
	s.expect(t, postPet(`{"name":"Rex","categoryId":7}`), wantResponse{status: 201})
	s.database.Exec(t, "INSERT INTO petstore_schema_version (version_id, is_applied) VALUES (101, TRUE)") // earlier programs can use it
	s.expect(t, get("/v1/pets"), wantResponse{status: 200})
	s.expect(t, postPet(`{"name":"Tom","categoryId":7}`), wantResponse{status: 201})
	s.database.Exec(t, "UPDATE store SET min_schema_version = 101")
	s.expect(t, postPet(`{"name":"Eve","categoryId":7}`), rejected(503, "unavailable"))
	for range 3 {
		for _, path := range []string{"/v1/pets", "/v1/pets/1", "/v1/store/inventory", "/v1/changes", "/readyz"} {
			s.expect(t, get(path), rejected(503, "unavailable"))
		}
	}
	failures := s.log.FilterMessage("the store is not available").All()
	const cause = "a newer petstore has migrated the store to 101, this program supports 100: use a newer petstore"
	if len(failures) != 1 || !strings.Contains(failures[0].ContextMap()["error"].(string), cause) {
		t.Errorf("got the failures %v in the log, want one with %q", failures, cause)
	}
}
