package http_test

import (
	"fmt"
	"maps"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/gin-gonic/gin"
	"github.com/google/go-cmp/cmp"

	"example.com/petstore/domain"
	"example.com/petstore/domain/apikey"
	"example.com/petstore/internal/test/testkit"
)

// Clients always get the same response.
func TestOnlyTheLogSaysWhyAKeyIsInvalid(t *testing.T) {
	t.Parallel()
	s := newTestServer(t)
	revoked := newKey(t, s.keys, "")
	expired, err := s.keys.Create(t.Context(), "test", time.Hour, "")
	check(t, err)
	check(t, s.keys.Revoke(t.Context(), 2))
	s.clock.advance(time.Hour)
	for secret, want := range map[string]map[string]any{
		apikey.Generate(): {"key_id": ""}, "petstore_": {"key_id": ""},
		revoked: {"key_id": "2", "key_state": "revoked"}, expired: {"key_id": "3", "key_state": "expired"},
	} {
		for range 2 { // also when the key is cached
			s.log.TakeAll()
			s.expect(t, get("/v1/pets/1", "Authorization: Bearer "+secret), wantResponse{
				status: 401, body: `{"code":"invalid_api_key","message":"the API key is not valid","status":401}`,
			}.withHeader(invalidTokenChallenge))
			line := s.accessLog(t)[0]
			maps.DeleteFunc(line, func(name string, _ any) bool { return !strings.HasPrefix(name, "key_") })
			if diff := cmp.Diff(want, line); diff != "" {
				t.Errorf("fields of the key (-want +got):\n%s", diff)
			}
		}
	}
}

func TestAPIKeyIsReadOnlyFromAuthorizationHeader(t *testing.T) {
	t.Parallel()
	s := newTestServer(t)
	missing := rejected(401, "missing_api_key").withHeader(bearerChallenge)
	invalid := rejected(401, "invalid_api_key").withHeader(invalidTokenChallenge)
	for want, values := range map[*wantResponse][]string{
		{status: 200, body: `[]`}: {"Bearer KEY", "bearer KEY", "bEaReR KEY"},
		&missing:                  {"", "Bearer", "Bearer ", "KEY", "Basic KEY", "Bearers KEY", "Bearer\tKEY"},
		&invalid: {
			"Bearer KEY, Bearer KEY", "Bearer KEY x", `Bearer "KEY"`, "Bearer x", "Bearer ä",
			"Bearer " + strings.Repeat("0", 10_000),
		},
	} {
		for _, value := range values {
			s.expect(t, get("/v1/pets", "Authorization: "+value), *want)
		}
	}
	for _, header := range []string{"X-Api-Key: KEY", "Proxy-Authorization: Bearer KEY", "Cookie: access_token=KEY"} {
		s.expect(t, get("/v1/pets?access_token="+s.key+"&api_key="+s.key, "-Authorization", header), missing)
	}
	for _, first := range []string{"Bearer KEY", "Basic x"} {
		s.expect(t, get("/v1/pets", "Authorization: "+first, "Authorization: Bearer KEY"), invalid)
	}
}

func TestEveryOperationRequiresKeyThatAllowsIt(t *testing.T) {
	t.Parallel()
	s := newTestServer(t, withRateLimit(1000, time.Minute))
	s.createPets(t, newPets(1, domain.PetAvailable)...)
	s.expect(t, postOrder(`{"petId":1}`), created(""))
	readOnly, unknown := "Authorization: Bearer "+newKey(t, s.keys, apikey.ReadOnly), "Authorization: Bearer "+apikey.Generate()
	forbidden := rejected(403, "forbidden", "requires an API key with the scope ").
		withHeader(scopeChallenge, `RateLimit-Policy: "default";q=1000;w=60`)
	for range 2 { // also when the key is cached
		for _, r := range documentedOperations() {
			methods := map[string]wantResponse{r.method: forbidden}
			if r.method == http.MethodGet {
				methods = map[string]wantResponse{"GET": {status: 200}, "HEAD": {status: 200}}
			}
			for method, want := range methods {
				s.expect(t, newRequest(method, r.path, "-Authorization"), wantResponse{status: 401}.withHeader(bearerChallenge))
				s.expect(t, newRequest(method, r.path, unknown), wantResponse{status: 401}.withHeader(invalidTokenChallenge))
				s.expect(t, newRequest(method, r.path, readOnly), want)
			}
		}
	}
	s.expect(t, get("/v1/pets"), ok(`[{"id":1,"name":"Rex","categoryId":7,"status":"pending"}]`))
	check(t, s.keys.Revoke(t.Context(), 2))
	s.waitUntilInvalid(t, readOnly)
	s.expect(t, postPet(newRex, readOnly), rejected(401, "invalid_api_key"))
}

// The inventory needs the scope for animals. An order changes its animal without the scope for animals.
func TestKeyMayDoOnlyWhatItsScopesAllow(t *testing.T) {
	t.Parallel()
	s := newTestServer(t)
	required := map[string]apikey.Scope{
		"GET /v1/pets": apikey.PetsRead, "GET /v1/pets/1": apikey.PetsRead, "GET /v1/store/inventory": apikey.PetsRead,
		"POST /v1/pets": apikey.PetsWrite, "POST /v1/pets/batch": apikey.PetsWrite, "PATCH /v1/pets/1": apikey.PetsWrite,
		"DELETE /v1/pets/1": apikey.PetsWrite, "GET /v1/store/orders": apikey.OrdersRead, "GET /v1/store/orders/1": apikey.OrdersRead,
		"POST /v1/store/orders": apikey.OrdersWrite, "POST /v1/store/orders/1/deliver": apikey.OrdersWrite,
		"POST /v1/store/orders/1/cancel": apikey.OrdersWrite, "GET /v1/categories": apikey.PetsRead,
		"PUT /v1/categories/1": apikey.PetsWrite, "DELETE /v1/categories/1": apikey.PetsWrite, "GET /v1/changes": apikey.ChangesRead,
	}
	operations := documentedOperations()
	testkit.Equal(t, "the number of operations", len(required), len(operations))
	for _, scopes := range []apikey.Scopes{"pets:read", "pets:write", "orders:read", "orders:write", "changes:read", "orders:write,pets:read"} {
		key := "Authorization: Bearer " + newKey(t, s.keys, scopes)
		for _, r := range operations {
			scope := required[r.method+" "+r.path]
			r.header = append(r.header, key)
			if !slices.Contains(scopes.List(), string(scope)) {
				s.expect(t, r, rejected(403, "forbidden", "requires an API key with the scope "+string(scope)).withHeader(scopeChallenge))
			} else if res := s.expect(t, r, wantResponse{}); res.StatusCode == http.StatusForbidden {
				t.Errorf("%s: got 403 for %s %s", scopes, r.method, r.path)
			}
		}
	}
}

func TestAuthenticatorNamesCallerOrRejects(t *testing.T) {
	t.Parallel()
	var challenge, caller string
	var err error
	s := newTestServer(t, withAuthenticator(func(c *gin.Context) (string, error) {
		if challenge != "" {
			c.Header("WWW-Authenticate", challenge)
		}
		return caller, err
	}))
	s.expectOnly(t, get("/v1/pets"), rejected(401, "unauthenticated", "sign in first").withHeader("-WWW-Authenticate"))
	err = apikey.Invalid(nil)
	s.expectOnly(t, get("/v1/pets"), rejected(401, "invalid_api_key").withHeader("-WWW-Authenticate"))
	challenge = `Basic realm="team"`
	s.expect(t, get("/v1/pets"), rejected(401, "invalid_api_key").withHeader(`WWW-Authenticate: Basic realm="team"`))
	challenge, err = "", fmt.Errorf("authenticate: %w", domain.Forbidden("guests are not allowed"))
	for _, r := range documentedOperations() {
		s.expect(t, r, rejected(403, "forbidden", "guests are not allowed").withoutText("authenticate").withHeader("-WWW-Authenticate"))
	}
	err = nil
	const one = "Idempotency-Key: one"
	for _, test := range []struct {
		caller string
		want   wantResponse
	}{
		{"ann", created(createdRex).withHeader(notReplayed)},
		{"bob", created(`{"id":2,"name":"Rex","categoryId":7}`).withHeader(notReplayed)},
		{"ann", created(createdRex).withHeader(replayed)},
	} {
		caller = test.caller
		s.expect(t, postPet(newRex, one), test.want)
	}
	changes := string(s.expect(t, get("/v1/changes"), ok("")).body) // the replay changed nothing
	for caller, want := range map[string]int{`"caller":"user:ann"`: 1, `"caller":"user:bob"`: 1, `"caller":`: 2} {
		testkit.Equal(t, caller, want, strings.Count(changes, caller))
	}
}

// Keys that replace each other have the same idempotency keys, also while several of them are valid. The
// key of another client has its own idempotency keys. Each caller of a host that uses the same store also has its
// own idempotency keys, even if the name of the caller is the id of an API key.
func TestRotatedKeyKeepsItsIdempotencyKeys(t *testing.T) {
	t.Parallel()
	s := newTestServer(t)
	rotate := func(id int64, overlap time.Duration) string {
		key, err := s.keys.Rotate(t.Context(), id, overlap)
		check(t, err)
		return key
	}
	add := func(want wantResponse, header string) {
		t.Helper()
		s.expect(t, postPet(newRex, "Idempotency-Key: one", header), want)
	}
	again := created(createdRex).withHeader(replayed)
	add(created(createdRex).withHeader(notReplayed), "Authorization: Bearer "+s.key)
	other, second := newKey(t, s.keys, ""), rotate(1, time.Hour)
	add(again, "Authorization: Bearer "+second)
	add(again, "Authorization: Bearer "+rotate(3, 0))
	s.waitUntilInvalid(t, "Authorization: Bearer "+second)
	add(rejected(401, "invalid_api_key"), "Authorization: Bearer "+second)
	add(again, "Authorization: Bearer "+s.key)
	add(created(`{"id":2,"name":"Rex","categoryId":7}`).withHeader(notReplayed), "Authorization: Bearer "+other)
	s.start(t, s.engine(t, withAuthenticator(func(c *gin.Context) (string, error) { return c.GetHeader("Caller"), nil })))
	for i, caller := range []string{"1", ":1", "2"} {
		add(created(fmt.Sprintf(`{"id":%d,"name":"Rex","categoryId":7}`, 3+i)).withHeader(notReplayed), "Caller: "+caller)
	}
}

// The caller is stored, indexed and logged, and is a label of metrics.
func TestCallerWithoutAValidNameIsAnErrorOfTheHost(t *testing.T) {
	t.Parallel()
	caller := strings.Repeat("€", 500)
	s := newTestServer(t, withAuthenticator(func(*gin.Context) (string, error) { return caller, nil }))
	s.expect(t, postPet(newRex, "Idempotency-Key: "+strings.Repeat("x", 255)), created(createdRex))
	for _, caller = range []string{"\xff", "a\x00", "a\n", " ", strings.Repeat("x", 501), strings.Repeat("x", 1<<20)} {
		for _, r := range []request{get("/v1/pets/1"), postPet(newRex, "Idempotency-Key: one")} {
			s.log.TakeAll()
			s.expect(t, r, rejected(500, "internal_error"))
			failures, lines := s.log.FilterMessage("request failed").All(), s.accessLog(t)
			if len(failures) != 1 || s.log.Len() != 2 || lines[0]["caller"] != "" {
				t.Errorf("%.10q: got the log %.1000v, want one failure, and no caller in the access log", caller, s.log.All())
			}
		}
	}
	caller = "ann"
	s.expect(t, get("/v1/pets"), ok("["+createdRex+"]"))
}

const (
	bearerChallenge       = `WWW-Authenticate: Bearer realm="petstore"`
	invalidTokenChallenge = `WWW-Authenticate: Bearer realm="petstore", error="invalid_token"`
	scopeChallenge        = `WWW-Authenticate: Bearer realm="petstore", error="insufficient_scope"`
)
