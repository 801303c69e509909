package http_test

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"testing"

	"github.com/gin-gonic/gin"

	"example.com/petstore/domain"
)

func TestPanicIsInternalErrorAndOnlyLogged(t *testing.T) {
	t.Parallel()
	var nilPet *domain.Pet
	for cause, doPanic := range map[string]func() domain.Pet{
		"a string":                      func() domain.Pet { panic("a string") },
		"an error value":                func() domain.Pet { panic(errors.New("an error value")) },
		"there is no pet with the id 1": func() domain.Pet { panic(domain.PetNotFound(1)) },
		"nil pointer":                   func() domain.Pet { return *nilPet },
		"panic called with nil":         func() domain.Pet { panic(nil) },
		"index out of range [1] with":   func() domain.Pet { return []domain.Pet{}[len("x")] },
	} {
		t.Run(cause, func(t *testing.T) {
			t.Parallel()
			s := newTestServer(t, withGet(func(context.Context, int64) (domain.Pet, error) { return doPanic(), nil }))
			res := s.expect(t, get("/v1/pets/1"), rejected(500, "internal_error").withHeader(deprecationHeaders...).withoutText(cause, "panic_test"))
			entries := s.log.FilterMessage("panic").All()
			if len(entries) != 1 {
				t.Fatalf("got %d panics in the log, want 1", len(entries))
			}
			fields := entries[0].ContextMap()
			if fields["request_id"] != res.Header.Get("X-Request-Id") || !strings.Contains(fmt.Sprint(fields["panic"]), cause) {
				t.Errorf("got log entry %v, want %s of request %s", fields, cause, res.Header.Get("X-Request-Id"))
			}
			if !strings.Contains(fmt.Sprint(fields["stack"]), "panic_test.go") {
				t.Errorf("got stack %v, want it to contain panic_test.go", fields["stack"])
			}
			s.expect(t, get("/v1/pets"), ok(`[]`))
		})
	}
}

func TestAccessLogRecordsPanicAs500(t *testing.T) {
	t.Parallel()
	s := newTestServer(t, withGet(func(context.Context, int64) (domain.Pet, error) { panic("panic value") }))
	s.expect(t, newRequest(http.MethodHead, "/v1/pets/1"), wantResponse{status: 500})
	if lines := s.accessLog(t); len(lines) != 1 || lines[0]["status"] != int64(500) {
		t.Errorf("got access log %v, want one line with status 500", lines)
	}
}

func TestAuthenticatorPanicIsInternalError(t *testing.T) {
	t.Parallel()
	s := newTestServer(t, withAuthenticator(func(*gin.Context) (string, error) { panic("panic value") }))
	s.expect(t, get("/v1/pets"), rejected(500, "internal_error").withoutText("panic value"))
}

func TestAbortHandlerPanicClosesConnection(t *testing.T) {
	t.Parallel()
	s := newTestServer(t, withGet(func(context.Context, int64) (domain.Pet, error) { panic(http.ErrAbortHandler) }))
	if res, err := s.send(t.Context(), get("/v1/pets/1")); err == nil {
		t.Errorf("got status %d with body %s, want a closed connection", res.StatusCode, res.body)
	}
	s.expect(t, get("/v1/pets"), ok(`[]`))
}
