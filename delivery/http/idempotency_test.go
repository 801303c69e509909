package http_test

import (
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"
)

const (
	newRex      = `{"name":"Rex","categoryId":7}`
	createdRex  = `{"id":1,"name":"Rex","categoryId":7}`
	replayed    = "Idempotency-Replayed: true"
	notReplayed = "-Idempotency-Replayed"
)

func postPetWithKey(key, body string) request { return postPet(body, "Idempotency-Key: "+key) }

func TestRepeatedRequestReplaysFirstResponse(t *testing.T) {
	t.Parallel()
	s := newTestServer(t)
	first := s.expect(t, postPetWithKey("one", newRex), created(createdRex).withHeader(notReplayed))
	for name, r := range map[string]request{
		"the same":                     postPetWithKey("one", newRex),
		"quoted":                       postPetWithKey(`"one"`, newRex),
		"quoted with white space":      postPetWithKey(` "one" `, newRex),
		"members in another order":     postPetWithKey("one", `{"categoryId":7,"name":"Rex"}`),
		"other white space":            postPetWithKey("one", " {\n\"name\" : \"Rex\",\t\"categoryId\":7 } "),
		"other escapes":                postPetWithKey("one", `{"n\u0061me":"\u0052ex","categoryId":7}`),
		"an additional unknown member": postPetWithKey("one", `{"name":"Rex","categoryId":7,"id":9}`),
		"another request id":           postPet(newRex, "Idempotency-Key: one", "X-Request-Id: second"),
	} {
		res := s.expect(t, r, created(createdRex).withHeader(replayed, "Location: "+first.Header.Get("Location")))
		if string(res.body) != string(first.body) {
			t.Errorf("%s: got %s, want %s as in the first response", name, res.body, first.body)
		}
	}
	s.expect(t, get("/v1/pets"), ok(`[`+createdRex+`]`))
}

func TestIdempotencyKeyOfAnotherRequestIsRejected(t *testing.T) {
	t.Parallel()
	s := newTestServer(t)
	s.expect(t, postPetWithKey("one", newRex), created(createdRex))
	for _, body := range []string{
		`{"name":"rex","categoryId":7}`, `{"name":"Rex","categoryId":8}`, `{"name":"Rex ","categoryId":7}`,
		`{"name":"Rex","categoryId":7,"status":"available"}`,
	} {
		s.expect(t, postPetWithKey("one", body), rejected(422, "idempotency_key_reused").withHeader(notReplayed, "-Location").withoutText("rex", "Rex"))
	}
	s.expect(t, postPetWithKey("one", newRex), created(createdRex).withHeader(replayed))
	s.expect(t, get("/v1/pets"), ok(`[`+createdRex+`]`))
}

func TestDifferentIdempotencyKeysAreDifferentRequests(t *testing.T) {
	t.Parallel()
	s := newTestServer(t)
	for i, key := range []string{"-Idempotency-Key", "Idempotency-Key: one", "Idempotency-Key: One", "Idempotency-Key: one1", `Idempotency-Key: "\"one\""`} {
		s.expect(t, postPet(newRex, key), created(fmt.Sprintf(`{"id":%d,"name":"Rex","categoryId":7}`, i+1)).withHeader(notReplayed))
	}
}

func TestIdempotencyKeysAreScopedToCaller(t *testing.T) {
	t.Parallel()
	s := newTestServer(t)
	other := "Authorization: Bearer " + s.createKey(t)
	s.expect(t, postPetWithKey("one", newRex), created(createdRex).withHeader(notReplayed))
	s.expect(t, postPet(`{"name":"Tom","categoryId":8}`, "Idempotency-Key: one", other), created(`{"id":2,"name":"Tom","categoryId":8}`).withHeader(notReplayed))
	s.expect(t, postPetWithKey("one", newRex), created(createdRex).withHeader(replayed))
	s.expect(t, postPet(`{"name":"Tom","categoryId":8}`, "Idempotency-Key: one", other), created(`{"id":2,"name":"Tom","categoryId":8}`).withHeader(replayed))
}

func TestIdempotencyKeyExpiresAfter24Hours(t *testing.T) {
	t.Parallel()
	s := newTestServer(t)
	s.expect(t, postPetWithKey("one", newRex), created(createdRex).withHeader(notReplayed))
	s.clock.set(noon.Add(24*time.Hour - time.Millisecond))
	s.expect(t, postPetWithKey("one", newRex), created(createdRex).withHeader(replayed))
	s.expect(t, postPetWithKey("one", `{"name":"Tom","categoryId":8}`), rejected(422, "idempotency_key_reused"))
	s.clock.set(noon.Add(24 * time.Hour))
	s.expect(t, postPetWithKey("one", `{"name":"Tom","categoryId":8}`), created(`{"id":2,"name":"Tom","categoryId":8}`).withHeader(notReplayed))
	s.expect(t, postPetWithKey("one", newRex), rejected(422, "idempotency_key_reused"))
}

func TestRejectedRequestDoesNotUseIdempotencyKey(t *testing.T) {
	t.Parallel()
	s := newTestServer(t)
	s.expect(t, postPetWithKey("one", `{"name":"","categoryId":7}`), rejected(400, "validation_failed"))
	s.expect(t, postPetWithKey("one", `{"name":"Rex"`), rejected(400, "invalid_json"))
	s.expect(t, postPet(newRex, "Idempotency-Key: one", "Content-Type: text/plain"), rejected(415, "unsupported_media_type"))
	s.expect(t, postPet(newRex, "Idempotency-Key: one", "-Authorization"), rejected(401, "missing_api_key"))
	s.expect(t, postPetWithKey("one", strings.Repeat(" ", 64<<10)+newRex), rejected(413, "body_too_large"))
	s.expect(t, postPetWithKey("one", newRex), created(createdRex).withHeader(notReplayed))
}

func TestIdempotencyKeyFormat(t *testing.T) {
	t.Parallel()
	s := newTestServer(t)
	var cases []testCase
	for _, key := range []string{
		"1", "8e03978e-40d5-43dd-bc93-6894a57f9324", `!#$%&'()*+,-./:;<=>?@[\]^_{|}~`, `a"b`, `a"`, strings.Repeat("b", 255),
		`"q"`, `"a\"b\\c"`, `"` + strings.Repeat("q", 255) + `"`, `"` + strings.Repeat(`\\`, 255) + `"`,
	} {
		cases = append(cases, testCase{key, postPetWithKey(key, newRex), created("").withHeader(notReplayed)})
	}
	invalid := rejected(400, "invalid_idempotency_key", "Idempotency-Key")
	for _, key := range []string{
		"", "a b", "a\tb", "ä", "\u00a0", "🐶", "\xff", strings.Repeat("b", 256), strings.Repeat("b", 10_000),
		`"`, `""`, `"a`, `"a" b`, `"a"b`, `"a";p=1`, `"a b"`, `"a\b"`, `"a\`, `"a\"`, `"ä"`, `"` + strings.Repeat("q", 256) + `"`,
	} {
		cases = append(cases, testCase{"invalid " + key, postPetWithKey(key, newRex), invalid.withHeader("-Location")})
	}
	s.run(t, append(cases,
		testCase{"given twice", postPet(newRex, "Idempotency-Key: x", "Idempotency-Key: x"), rejected(400, "invalid_idempotency_key", "Idempotency-Key must be given once")},
		testCase{"given twice, once empty", postPet(newRex, "Idempotency-Key: x", "Idempotency-Key: "), invalid},
	))
}

func TestIdempotencyKeyWithoutResultIsInProgress(t *testing.T) {
	t.Parallel()
	s := newTestServer(t)
	s.expect(t, postPetWithKey("one", newRex), created(createdRex))
	s.database.Exec(t, `UPDATE idempotency_keys SET result = NULL`)
	s.expect(t, postPetWithKey("one", newRex), rejected(409, "idempotency_in_progress"))
	s.expect(t, postPetWithKey("one", `{"name":"Tom","categoryId":8}`), rejected(422, "idempotency_key_reused"))
}

func TestConcurrentRepeatedRequestsCreateOnePet(t *testing.T) {
	t.Parallel()
	s := newTestServer(t)
	const clients = 64
	responses := make(chan response, clients)
	var start, done sync.WaitGroup
	start.Add(1)
	for range clients {
		done.Go(func() {
			start.Wait()
			res, err := s.send(t.Context(), postPetWithKey("one", newRex))
			if err != nil {
				t.Error(err)
				return
			}
			responses <- res
		})
	}
	start.Done()
	done.Wait()
	close(responses)
	firstResponses := 0
	for res := range responses {
		s.checkCommonRules(t, res)
		res.check(t, created(createdRex))
		if res.Header.Get("Idempotency-Replayed") == "" {
			firstResponses++
		}
	}
	if firstResponses != 1 {
		t.Errorf("got %d responses without Idempotency-Replayed, want 1", firstResponses)
	}
	s.expect(t, get("/v1/pets"), ok(`[`+createdRex+`]`))
}
