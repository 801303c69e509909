package http_test

import (
	"encoding/json"
	"net/http"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// published is the closed list of codes, each with its one status.
var published = map[string]int{
	"invalid_json":            http.StatusBadRequest,
	"validation_failed":       http.StatusBadRequest,
	"invalid_parameter":       http.StatusBadRequest,
	"invalid_idempotency_key": http.StatusBadRequest,
	"missing_api_key":         http.StatusUnauthorized,
	"invalid_api_key":         http.StatusUnauthorized,
	"forbidden":               http.StatusForbidden,
	"not_found":               http.StatusNotFound,
	"pet_not_found":           http.StatusNotFound,
	"order_not_found":         http.StatusNotFound,
	"method_not_allowed":      http.StatusMethodNotAllowed,
	"request_timeout":         http.StatusRequestTimeout,
	"pet_not_available":       http.StatusConflict,
	"order_state_conflict":    http.StatusConflict,
	"idempotency_in_progress": http.StatusConflict,
	"operation_removed":       http.StatusGone,
	"body_too_large":          http.StatusRequestEntityTooLarge,
	"unsupported_media_type":  http.StatusUnsupportedMediaType,
	"idempotency_key_reused":  http.StatusUnprocessableEntity,
	"rate_limited":            http.StatusTooManyRequests,
	"internal_error":          http.StatusInternalServerError,
	"unavailable":             http.StatusServiceUnavailable,
}

var (
	wellFormedID = regexp.MustCompile(`^[A-Za-z0-9._-]{1,64}$`)
	randomID     = regexp.MustCompile(`^[0-9a-f]{32}$`)
)

// inward are words of the house that no client may ever read.
var inward = []string{
	"CategoryID", "newPet", "domain.", "json:", "validate", "strconv", "sql", "SQL", "SELECT", "INSERT", "no such table",
	"context ", "goroutine", ".go:", "panic", "petstore_", "database is",
}

// check tests what holds for every answer of the service.
func (s *testServer) check(t *testing.T, a answer) {
	t.Helper()
	a.checkHeader(t)
	if challenge := a.Header.Get("WWW-Authenticate"); strings.HasPrefix(challenge, s.challenge) != (a.StatusCode == http.StatusUnauthorized) {
		t.Errorf("got the challenge %q with the status %d", challenge, a.StatusCode)
	}
	a.checkBody(t)
	s.checkContract(t, a)
}

func (a answer) checkHeader(t *testing.T) {
	t.Helper()
	kept := "no-store"
	if a.Header.Get("ETag") != "" { // a list
		kept = "private, no-cache"
	}
	a.check(t, want{header: []string{"X-Content-Type-Options: nosniff", "Cache-Control: " + kept, "-Server", "-X-Powered-By"}})

	ids, given := a.Header.Values("X-Request-Id"), a.Request.Header.Get("X-Request-Id")
	switch {
	case len(ids) != 1:
		t.Errorf("got the request ids %q, want one", ids)
	case wellFormedID.MatchString(given) && ids[0] != given:
		t.Errorf("got the request id %q, want the client's %q", ids[0], given)
	case !wellFormedID.MatchString(given) && !randomID.MatchString(ids[0]):
		t.Errorf("got the request id %q, want 128 bits in hex", ids[0])
	}
	if wait := a.Header.Get("Retry-After"); regexp.MustCompile(`^[1-9]\d*$`).MatchString(wait) != (a.StatusCode == http.StatusServiceUnavailable) {
		t.Errorf("got Retry-After: %q with the status %d", wait, a.StatusCode)
	}
	if a.StatusCode == http.StatusMethodNotAllowed && a.Header.Get("Allow") == "" {
		t.Error("a 405 without Allow")
	}
}

func (a answer) checkBody(t *testing.T) {
	t.Helper()
	empty := a.StatusCode == http.StatusNoContent || a.StatusCode == http.StatusNotModified
	bodiless := a.Request.Method == http.MethodHead || empty
	if bodiless != (len(a.body) == 0) {
		t.Errorf("%s answered %d with the body %q", a.Request.Method, a.StatusCode, a.body)
	}
	if !empty {
		a.check(t, want{header: []string{"Content-Type: application/json"}})
	}
	if a.StatusCode < http.StatusBadRequest || bodiless {
		return
	}
	members, ok := decode(t, a.body).(map[string]any)
	if !ok || len(members) != 3 {
		t.Errorf("the error %s has not the three members code, message and status", a.body)
	}
	code, _ := members["code"].(string)
	message, _ := members["message"].(string)
	status, _ := members["status"].(json.Number)
	repeated, err := status.Int64()
	if err != nil || int(repeated) != a.StatusCode || published[code] != a.StatusCode || message == "" {
		t.Errorf("got the error %s with the status %d", a.body, a.StatusCode)
	}
	if i := slices.IndexFunc(inward, func(word string) bool { return strings.Contains(message, word) }); i >= 0 {
		t.Errorf("the message %q says %q", message, inward[i])
	}
}
