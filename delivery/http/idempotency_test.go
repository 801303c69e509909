package http_test

import (
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"
)

const (
	newRex = `{"name":"Rex","categoryId":7}`
	oldRex = `{"id":1,"name":"Rex","categoryId":7}`
	again  = "Idempotency-Replayed: true"
	first  = "-Idempotency-Replayed"
)

func keyed(key, body string) request { return post(body, "Idempotency-Key: "+key) }

func TestRepetitionGetsTheFirstAnswerAgain(t *testing.T) {
	t.Parallel()
	s := newTestServer(t)
	one := s.expect(t, keyed("one", newRex), created(oldRex).with(first))
	for rule, r := range map[string]request{
		"the same":                  keyed("one", newRex),
		"quoted":                    keyed(`"one"`, newRex),
		"quoted with white space":   keyed(` "one" `, newRex),
		"members in another order":  keyed("one", `{"categoryId":7,"name":"Rex"}`),
		"other white space":         keyed("one", " {\n\"name\" : \"Rex\",\t\"categoryId\":7 } "),
		"other escapes":             keyed("one", `{"n\u0061me":"\u0052ex","categoryId":7}`),
		"an ignored member besides": keyed("one", `{"name":"Rex","categoryId":7,"id":9}`),
		"another request id":        post(newRex, "Idempotency-Key: one", "X-Request-Id: second"),
	} {
		a := s.expect(t, r, created(oldRex).with(again, "Location: "+one.Header.Get("Location")))
		if string(a.body) != string(one.body) {
			t.Errorf("%s: got %s, the first answer was %s", rule, a.body, one.body)
		}
	}
	s.expect(t, get("/v1/pets"), ok(`[`+oldRex+`]`))
}

func TestKeyOfAnotherRequestIsRefused(t *testing.T) {
	t.Parallel()
	s := newTestServer(t)
	s.expect(t, keyed("one", newRex), created(oldRex))
	for _, body := range []string{
		`{"name":"rex","categoryId":7}`, `{"name":"Rex","categoryId":8}`, `{"name":"Rex ","categoryId":7}`,
		`{"name":"Rex","categoryId":7,"status":"available"}`,
	} {
		s.expect(t, keyed("one", body), refused(422, "idempotency_key_reused").with(first, "-Location").without("rex", "Rex"))
	}
	s.expect(t, keyed("one", newRex), created(oldRex).with(again))
	s.expect(t, get("/v1/pets"), ok(`[`+oldRex+`]`))
}

func TestDifferentKeysAreDifferentRequests(t *testing.T) {
	t.Parallel()
	s := newTestServer(t)
	for i, key := range []string{"-Idempotency-Key", "Idempotency-Key: one", "Idempotency-Key: One", "Idempotency-Key: one1", `Idempotency-Key: "\"one\""`} {
		s.expect(t, post(newRex, key), created(fmt.Sprintf(`{"id":%d,"name":"Rex","categoryId":7}`, i+1)).with(first))
	}
}

func TestKeysOfTwoClientsNeverMeet(t *testing.T) {
	t.Parallel()
	s := newTestServer(t)
	other := "Authorization: Bearer " + s.issueKey(t)
	s.expect(t, keyed("one", newRex), created(oldRex).with(first))
	s.expect(t, post(`{"name":"Tom","categoryId":8}`, "Idempotency-Key: one", other), created(`{"id":2,"name":"Tom","categoryId":8}`).with(first))
	s.expect(t, keyed("one", newRex), created(oldRex).with(again))
	s.expect(t, post(`{"name":"Tom","categoryId":8}`, "Idempotency-Key: one", other), created(`{"id":2,"name":"Tom","categoryId":8}`).with(again))
}

func TestKeyIsNewAfterADay(t *testing.T) {
	t.Parallel()
	s := newTestServer(t)
	s.expect(t, keyed("one", newRex), created(oldRex).with(first))
	s.clock.set(noon.Add(24*time.Hour - time.Millisecond))
	s.expect(t, keyed("one", newRex), created(oldRex).with(again))
	s.expect(t, keyed("one", `{"name":"Tom","categoryId":8}`), refused(422, "idempotency_key_reused"))
	s.clock.set(noon.Add(24 * time.Hour))
	s.expect(t, keyed("one", `{"name":"Tom","categoryId":8}`), created(`{"id":2,"name":"Tom","categoryId":8}`).with(first))
	s.expect(t, keyed("one", newRex), refused(422, "idempotency_key_reused"))
}

func TestRefusedRequestLeavesItsKeyUnused(t *testing.T) {
	t.Parallel()
	s := newTestServer(t)
	s.expect(t, keyed("one", `{"name":"","categoryId":7}`), refused(400, "validation_failed"))
	s.expect(t, keyed("one", `{"name":"Rex"`), refused(400, "invalid_json"))
	s.expect(t, post(newRex, "Idempotency-Key: one", "Content-Type: text/plain"), refused(415, "unsupported_media_type"))
	s.expect(t, post(newRex, "Idempotency-Key: one", "-Authorization"), refused(401, "missing_api_key"))
	s.expect(t, keyed("one", strings.Repeat(" ", 64<<10)+newRex), refused(413, "body_too_large"))
	s.expect(t, keyed("one", newRex), created(oldRex).with(first))
}

func TestFormOfAnIdempotencyKey(t *testing.T) {
	t.Parallel()
	s := newTestServer(t)
	var cases []testCase
	for _, key := range []string{
		"1", "8e03978e-40d5-43dd-bc93-6894a57f9324", `!#$%&'()*+,-./:;<=>?@[\]^_{|}~`, `a"b`, `a"`, strings.Repeat("b", 255),
		`"q"`, `"a\"b\\c"`, `"` + strings.Repeat("q", 255) + `"`, `"` + strings.Repeat(`\\`, 255) + `"`,
	} {
		cases = append(cases, testCase{key, keyed(key, newRex), created("").with(first)})
	}
	invalid := refused(400, "invalid_idempotency_key", "Idempotency-Key")
	for _, key := range []string{
		"", "a b", "a\tb", "ä", "\u00a0", "🐶", "\xff", strings.Repeat("b", 256), strings.Repeat("b", 10_000),
		`"`, `""`, `"a`, `"a" b`, `"a"b`, `"a";p=1`, `"a b"`, `"a\b"`, `"a\`, `"a\"`, `"ä"`, `"` + strings.Repeat("q", 256) + `"`,
	} {
		cases = append(cases, testCase{"refused " + key, keyed(key, newRex), invalid.with("-Location")})
	}
	s.run(t, append(cases,
		testCase{"refused twice", post(newRex, "Idempotency-Key: x", "Idempotency-Key: x"), refused(400, "invalid_idempotency_key", "Idempotency-Key must be given once")},
		testCase{"refused twice, once empty", post(newRex, "Idempotency-Key: x", "Idempotency-Key: "), invalid},
	))
}

func TestFirstRequestWithoutAResultIsInProgress(t *testing.T) {
	t.Parallel()
	s := newTestServer(t)
	s.expect(t, keyed("one", newRex), created(oldRex))
	s.exec(t, `UPDATE idempotency_keys SET result = NULL`)
	s.expect(t, keyed("one", newRex), refused(409, "idempotency_in_progress"))
	s.expect(t, keyed("one", `{"name":"Tom","categoryId":8}`), refused(422, "idempotency_key_reused"))
}

func TestRepetitionsAtOnceAddOnePet(t *testing.T) {
	t.Parallel()
	s := newTestServer(t)
	const clients = 64
	answers := make(chan answer, clients)
	var start, done sync.WaitGroup
	start.Add(1)
	for range clients {
		done.Go(func() {
			start.Wait()
			a, err := s.send(t.Context(), keyed("one", newRex))
			if err != nil {
				t.Error(err)
				return
			}
			answers <- a
		})
	}
	start.Done()
	done.Wait()
	close(answers)
	firsts := 0
	for a := range answers {
		s.check(t, a)
		a.check(t, created(oldRex))
		if a.Header.Get("Idempotency-Replayed") == "" {
			firsts++
		}
	}
	if firsts != 1 {
		t.Errorf("%d answers are the first, want one", firsts)
	}
	s.expect(t, get("/v1/pets"), ok(`[`+oldRex+`]`))
}
