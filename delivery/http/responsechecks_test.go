package http_test

import (
	"encoding/json"
	"net/http"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// publishedCodes maps every published code to its status.
var publishedCodes = map[string]int{
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
	validRequestID     = regexp.MustCompile(`^[A-Za-z0-9._-]{1,64}$`)
	generatedRequestID = regexp.MustCompile(`^[0-9a-f]{32}$`)
	retryAfterSeconds  = regexp.MustCompile(`^[1-9]\d*$`)
)

// internalTerms are texts that the message of an error must not contain.
var internalTerms = []string{
	"CategoryID", "newPet", "domain.", "json:", "validate", "strconv", "sql", "SQL", "SELECT", "INSERT", "no such table",
	"context ", "goroutine", ".go:", "panic", "petstore_", "database is",
}

// checkCommonRules checks the rules that every response of the service follows.
func (s *testServer) checkCommonRules(t *testing.T, res response) {
	t.Helper()
	res.checkCommonHeader(t)
	challenge, unauthorized := res.Header.Get("WWW-Authenticate"), res.StatusCode == http.StatusUnauthorized
	if res.StatusCode != http.StatusForbidden && strings.HasPrefix(challenge, s.challenge) != unauthorized {
		t.Errorf("got status %d with WWW-Authenticate %q", res.StatusCode, challenge)
	}
	res.checkBody(t)
	s.checkContract(t, res)
}

func (res response) checkCommonHeader(t *testing.T) {
	t.Helper()
	cacheControl := "no-store"
	if res.Header.Get("ETag") != "" { // a list
		cacheControl = "private, no-cache"
	}
	res.check(t, wantResponse{header: []string{"X-Content-Type-Options: nosniff", "Cache-Control: " + cacheControl, "-Server", "-X-Powered-By"}})

	ids, sent := res.Header.Values("X-Request-Id"), res.Request.Header.Get("X-Request-Id")
	switch {
	case len(ids) != 1:
		t.Errorf("got request ids %q, want one", ids)
	case isValidRequestID(sent) && ids[0] != sent:
		t.Errorf("got request id %q, want %q of the client", ids[0], sent)
	case !isValidRequestID(sent) && !generatedRequestID.MatchString(ids[0]):
		t.Errorf("got request id %q, want 32 hexadecimal digits", ids[0])
	}
	if value := res.Header.Get("Retry-After"); retryAfterSeconds.MatchString(value) != (res.StatusCode == http.StatusServiceUnavailable) {
		t.Errorf("got status %d with Retry-After %q", res.StatusCode, value)
	}
	if res.StatusCode == http.StatusMethodNotAllowed && res.Header.Get("Allow") == "" {
		t.Error("got a 405 without Allow")
	}
}

// checkBody checks that a body exists where the method and the status allow one, and
// that an error has the published format.
func (res response) checkBody(t *testing.T) {
	t.Helper()
	noContent := res.StatusCode == http.StatusNoContent || res.StatusCode == http.StatusNotModified
	wantEmpty := res.Request.Method == http.MethodHead || noContent
	if wantEmpty != (len(res.body) == 0) {
		t.Errorf("%s: got status %d with body %q", res.Request.Method, res.StatusCode, res.body)
	}
	if !noContent {
		res.check(t, wantResponse{header: []string{"Content-Type: application/json"}})
	}
	if res.StatusCode < http.StatusBadRequest || wantEmpty {
		return
	}
	members, ok := decodeJSON(t, res.body).(map[string]any)
	if !ok || len(members) != 3 {
		t.Errorf("got error %s, want the members code, message and status", res.body)
	}
	code, _ := members["code"].(string)
	message, _ := members["message"].(string)
	number, _ := members["status"].(json.Number)
	status, err := number.Int64()
	if err != nil || int(status) != res.StatusCode || publishedCodes[code] != res.StatusCode || message == "" {
		t.Errorf("got error %s with status %d", res.body, res.StatusCode)
	}
	if i := slices.IndexFunc(internalTerms, func(term string) bool { return strings.Contains(message, term) }); i >= 0 {
		t.Errorf("got message %q, want it without %q", message, internalTerms[i])
	}
}

// isValidRequestID reports whether the service uses the X-Request-Id of a client, which may
// be any but an API key.
func isValidRequestID(id string) bool {
	return validRequestID.MatchString(id) && !strings.HasPrefix(id, "petstore_")
}
