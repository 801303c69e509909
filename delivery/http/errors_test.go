package http_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/gin-gonic/gin"
	"github.com/google/go-cmp/cmp"
	"go.uber.org/zap"

	"example.com/petstore/delivery/http/server"
	"example.com/petstore/domain"
	"example.com/petstore/domain/apikey"
)

// constantsOfType returns the values of the string constants of a type that package
// domain, binding and this package declare.
func constantsOfType(t *testing.T, typeName string) (values []string) {
	t.Helper()
	constant := regexp.MustCompile(`\s(?:domain\.)?` + typeName + `\s+= "(.+)"\n`)
	for _, folder := range []string{"../../domain", "../internal/binding", "."} {
		found := len(values)
		files, _ := filepath.Glob(folder + "/*.go") // the pattern is valid
		for _, file := range files {
			source, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			for _, declaration := range constant.FindAllSubmatch(source, -1) {
				values = append(values, string(declaration[1]))
			}
		}
		if typeName == "Code" && len(values) == found {
			t.Errorf("%s declares no constant of type %s", folder, typeName)
		}
	}
	return values
}

// newRejectingServer returns a server whose Authenticator returns *err.
func newRejectingServer(t *testing.T, err *error) *testServer {
	t.Helper()
	return newTestServer(t, withAuthenticator(func(*gin.Context) (string, error) { return "", *err }))
}

func TestEveryKindHasAStatus(t *testing.T) {
	t.Parallel()
	statuses := map[string]int{
		"invalid": 400, "unauthenticated": 401, "forbidden": 403, "not found": 404, "method not allowed": 405, "request timeout": 408,
		"conflict": 409, "expired": 410, "rate limited": 429, "gone": 410, "body too large": 413, "unsupported media type": 415, "reused": 422,
		"internal": 500, "unavailable": 503,
	}
	var err error
	s, codes := newRejectingServer(t, &err), constantsOfType(t, "Code")
	for _, kind := range constantsOfType(t, "Kind") {
		status := statuses[kind]
		i := slices.IndexFunc(codes, func(code string) bool { return publishedCodes[code] == status })
		if i < 0 {
			t.Fatalf("kind %q: no code is published with status %d", kind, status)
		}
		failure := &domain.Error{Kind: domain.Kind(kind), Code: domain.Code(codes[i]), Message: "public message", Cause: errors.New("hidden detail")}
		err = fmt.Errorf("wrapped: %w", fmt.Errorf("and again: %w", failure))
		// not expect: some of these statuses are not documented for a list
		s.expectOnly(t, get("/v1/pets"), rejected(status, codes[i], "public message").withoutText("hidden detail", "wrapped", "again"))
	}
}

func TestCodesMatchPublishedCodes(t *testing.T) {
	t.Parallel()
	codes := constantsOfType(t, "Code")
	for _, code := range codes {
		if publishedCodes[code] == 0 {
			t.Errorf("code %s is not published", code)
		}
	}
	for code := range publishedCodes {
		if !slices.Contains(codes, code) {
			t.Errorf("published code %s is not declared", code)
		}
	}
}

func TestUnknownErrorIsInternalError(t *testing.T) {
	t.Parallel()
	var err error
	s := newRejectingServer(t, &err)
	for _, err = range []error{
		errors.New("hidden detail"),
		domain.ErrNotFound,
		&domain.Error{Kind: "hidden detail", Code: "hidden detail", Message: "hidden detail"},
		&domain.Error{Message: "hidden detail"},
		&domain.Error{Kind: domain.ErrUnauthenticated, Message: "hidden detail"},
	} {
		res := s.expect(t, get("/v1/pets"), rejected(500, "internal_error").withoutText("hidden detail"))
		s.checkCauseLogged(t, res, err.Error())
	}
}

// checkCauseLogged checks that the cause of a failure is logged with the request id.
func (s *testServer) checkCauseLogged(t *testing.T, res response, cause string) {
	t.Helper()
	for _, entry := range s.log.FilterFieldKey("error").All() {
		fields := entry.ContextMap()
		if fields["request_id"] == res.Header.Get("X-Request-Id") && strings.Contains(fmt.Sprint(fields["error"]), cause) {
			return
		}
	}
	t.Errorf("got no log entry with %q for request %s", cause, res.Header.Get("X-Request-Id"))
}

func TestStoreErrorIsInternalErrorAndOnlyLogged(t *testing.T) {
	t.Parallel()
	s := newTestServer(t)
	for _, tc := range []struct {
		table string
		request
	}{
		{"pets", get("/v1/pets")},
		{"orders", get("/v1/store/orders")},
		{"idempotency_keys", postPet(newRex, "Idempotency-Key: one")},
		{"api_keys", get("/v1/pets", "Authorization: Bearer "+apikey.Generate())}, // not cached
	} {
		s.removeTable(t, tc.table)
		res := s.expect(t, tc.request, rejected(500, "internal_error").withoutText(tc.table+":", "table"))
		s.checkCauseLogged(t, res, tc.table)
	}
}

// newFailingServer returns a server whose store fails while failing is true.
func newFailingServer(t *testing.T) (s *testServer, failing *atomic.Bool) {
	t.Helper()
	s, failing = newUnstartedServer(t), new(atomic.Bool)
	fail := func() error {
		if failing.Load() {
			return domain.Unavailable(errors.New("connection refused"))
		}
		return nil
	}
	rex := domain.Pet{ID: 1, Name: "Rex", CategoryID: 7}
	s.health = server.NewHealth(func(context.Context) error { return fail() })
	s.start(t, s.engine(t, nil,
		withGet(func(context.Context, int64) (domain.Pet, error) { return rex, fail() }),
		withCreate(func(context.Context) (domain.Pet, error) { return rex, fail() })))
	return s, failing
}

// The messages at the beginning and at the end of an outage.
const outageBegins, outageEnds = "the store is not available", "the store is available again"

// wantOutages expects log entries with these messages, the numbers of failed requests in
// those of an end, and no error but those of a beginning.
func (s *testServer) wantOutages(t *testing.T, want ...any) {
	t.Helper()
	var got []any
	for _, entry := range s.log.All() {
		if entry.Level == zap.DebugLevel || entry.Message == "request" {
			continue
		}
		got = append(got, entry.Message)
		if failed, ended := entry.ContextMap()["failed_requests"]; ended {
			got = append(got, failed)
		}
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("log (-want +got):\n%s", diff)
	}
}

func TestOutageOfTheStoreIsLoggedAtItsBeginningAndItsEnd(t *testing.T) {
	t.Parallel()
	s, failing := newFailingServer(t)
	for range 2 {
		s.log.TakeAll()
		failing.Store(true)
		for _, r := range []request{get("/v1/pets/1"), postPet(newRex), get("/readyz"), postPet(newRex)} {
			s.expect(t, r, rejected(503, "unavailable").withHeader("Retry-After: 1"))
		}
		s.wantOutages(t, outageBegins)
		failing.Store(false)
		s.clock.advance(time.Second)
		s.expect(t, get("/v1/pets/1"), wantResponse{status: 200})
		s.wantOutages(t, outageBegins) // writes may still fail
		s.expect(t, postPet(newRex), wantResponse{status: 201})
		s.expect(t, get("/livez"), ok("")) // does not use the store
		s.wantOutages(t, outageBegins)     // it may still not be ready
		s.expect(t, get("/readyz"), ok(""))
		s.wantOutages(t, outageBegins, outageEnds, int64(4))
	}
}

func TestStoreThatFailsNowAndThenDoesNotFillTheLog(t *testing.T) {
	t.Parallel()
	s, failing := newFailingServer(t)
	for range 10 {
		failing.Store(true)
		s.expect(t, postPet(newRex), rejected(503, "unavailable"))
		failing.Store(false)
		s.expect(t, postPet(newRex), wantResponse{status: 201})
	}
	s.wantOutages(t, outageBegins)
	s.clock.advance(time.Second)
	s.expect(t, postPet(newRex), wantResponse{status: 201})
	s.wantOutages(t, outageBegins, outageEnds, int64(10))
}

func TestFailureLongAfterTheLastOneIsLoggedAgain(t *testing.T) {
	t.Parallel()
	s, failing := newFailingServer(t)
	failing.Store(true)
	s.expect(t, postPet(newRex), rejected(503, "unavailable")) // nobody writes again
	failing.Store(false)
	s.clock.advance(time.Minute)
	s.expect(t, get("/v1/pets/1"), wantResponse{status: 200})
	failing.Store(true)
	for range 2 {
		s.expect(t, get("/v1/pets/1"), rejected(503, "unavailable"))
	}
	s.wantOutages(t, outageBegins, outageBegins)
}
