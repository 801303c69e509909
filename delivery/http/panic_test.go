package http_test

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"testing"

	"github.com/gin-gonic/gin"

	rest "example.com/petstore/delivery/http"
	"example.com/petstore/domain"
)

// A catalogue does what no real one does on demand.
type catalogue struct {
	rest.Pets
	get func(context.Context, int64) (domain.Pet, error)
}

func (c catalogue) Get(ctx context.Context, id int64) (domain.Pet, error) { return c.get(ctx, id) }

// openShopWhere opens a shop in which to get a pet is to call get.
func openShopWhere(t *testing.T, get func(context.Context, int64) (domain.Pet, error), options ...rest.Option) *testServer {
	t.Helper()
	return newTestServerWith(t, func(s *rest.Services) { s.Pets = catalogue{Pets: s.Pets, get: get} }, options...)
}

func TestPanicIsAnInternalErrorWhoseCauseIsInTheLogAlone(t *testing.T) {
	t.Parallel()
	var nobody *domain.Pet
	for cause, fall := range map[string]func() domain.Pet{
		"the dog ate it":                func() domain.Pet { panic("the dog ate it") },
		"the cat ate it":                func() domain.Pet { panic(errors.New("the cat ate it")) },
		"there is no pet with the id 1": func() domain.Pet { panic(domain.PetNotFound(1)) },
		"nil pointer":                   func() domain.Pet { return *nobody },
		"panic called with nil":         func() domain.Pet { panic(nil) },
		"index out of range [1] with":   func() domain.Pet { return []domain.Pet{}[len("x")] },
	} {
		t.Run(cause, func(t *testing.T) {
			t.Parallel()
			s := openShopWhere(t, func(context.Context, int64) (domain.Pet, error) { return fall(), nil })
			a := s.expect(t, get("/v1/pets/1"), refused(500, "internal_error").with(announced...).without(cause, "panic_test"))
			lines := s.log.FilterMessage("panic").All()
			if len(lines) != 1 {
				t.Fatalf("got %d lines of a panic, want one", len(lines))
			}
			line := lines[0].ContextMap()
			if line["request_id"] != a.Header.Get("X-Request-Id") || !strings.Contains(fmt.Sprint(line["panic"]), cause) {
				t.Errorf("the log tells %v, want %s of the request %s", line, cause, a.Header.Get("X-Request-Id"))
			}
			if !strings.Contains(fmt.Sprint(line["stack"]), "panic_test.go") {
				t.Error("the log does not tell where the panic was")
			}
			s.expect(t, get("/v1/pets"), ok(`[]`))
		})
	}
}

func TestPanicIsInTheAccessLogAsAnInternalError(t *testing.T) {
	t.Parallel()
	s := openShopWhere(t, func(context.Context, int64) (domain.Pet, error) { panic("the dog ate it") })
	s.expect(t, send(http.MethodHead, "/v1/pets/1"), want{status: 500})
	if lines := s.accessLog(t); len(lines) != 1 || lines[0]["status"] != int64(500) {
		t.Errorf("got the access log %v", lines)
	}
}

func TestPanicOfAnAuthenticatorIsAnInternalError(t *testing.T) {
	t.Parallel()
	s := newTestServer(t, rest.WithAuthenticator(func(*gin.Context) (string, error) { panic("the dog ate it") }))
	s.expect(t, get("/v1/pets"), refused(500, "internal_error").without("dog"))
}

func TestAbandonedAnswerEndsTheConnection(t *testing.T) {
	t.Parallel()
	s := openShopWhere(t, func(context.Context, int64) (domain.Pet, error) { panic(http.ErrAbortHandler) })
	if a, err := s.send(t.Context(), get("/v1/pets/1")); err == nil {
		t.Errorf("got the answer %d %s", a.StatusCode, a.body)
	}
	s.expect(t, get("/v1/pets"), ok(`[]`))
}
