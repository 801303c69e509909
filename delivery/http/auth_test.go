package http_test

import (
	"net/http"
	"strings"
	"testing"
	"time"

	"example.com/petstore/domain"
)

const (
	showKey  = `WWW-Authenticate: Bearer realm="petstore"`
	wrongKey = `WWW-Authenticate: Bearer realm="petstore", error="invalid_token"`
)

func TestKeyIsTakenFromTheAuthorizationHeaderAlone(t *testing.T) {
	t.Parallel()
	s := newTestServer(t)
	missing := refused(401, "missing_api_key").with(showKey)
	invalid := refused(401, "invalid_api_key").with(wrongKey)
	s.run(t, []testCase{
		{"as published", get("/v1/pets", "Authorization: Bearer KEY"), ok(`[]`)},
		{"scheme in small letters", get("/v1/pets", "Authorization: bearer KEY"), ok(`[]`)},
		{"scheme in capitals", get("/v1/pets", "Authorization: BEARER KEY"), ok(`[]`)},
		{"scheme in mixed letters", get("/v1/pets", "Authorization: bEaReR KEY"), ok(`[]`)},

		{"no header", get("/v1/pets", "-Authorization"), missing},
		{"empty header", get("/v1/pets", "Authorization: "), missing},
		{"scheme alone", get("/v1/pets", "Authorization: Bearer"), missing},
		{"scheme and a space", get("/v1/pets", "Authorization: Bearer "), missing},
		{"key alone", get("/v1/pets", "Authorization: KEY"), missing},
		{"Basic", get("/v1/pets", "Authorization: Basic KEY"), missing},
		{"Digest", get("/v1/pets", "Authorization: Digest KEY"), missing},
		{"scheme that only begins alike", get("/v1/pets", "Authorization: Bearers KEY"), missing},
		{"tab for the space", get("/v1/pets", "Authorization: Bearer\tKEY"), missing},
		{"in the query", get("/v1/pets?access_token=KEY&api_key=KEY&key=KEY", "-Authorization"), missing},
		{"in another header", get("/v1/pets", "-Authorization", "X-Api-Key: KEY", "Proxy-Authorization: Bearer KEY"), missing},
		{"in a cookie", get("/v1/pets", "-Authorization", "Cookie: access_token=KEY"), missing},

		{"header twice", get("/v1/pets", "Authorization: Bearer KEY", "Authorization: Bearer KEY"), invalid},
		{"header twice, one Basic", get("/v1/pets", "Authorization: Basic x", "Authorization: Bearer KEY"), invalid},
		{"two keys in one header", get("/v1/pets", "Authorization: Bearer KEY, Bearer KEY"), invalid},
		{"something behind the key", get("/v1/pets", "Authorization: Bearer KEY x"), invalid},
		{"quoted", get("/v1/pets", `Authorization: Bearer "KEY"`), invalid},
	})
}

func TestEveryOperationWantsTheKey(t *testing.T) {
	t.Parallel()
	s := newTestServer(t)
	for _, r := range operations(t) {
		for _, method := range []string{r.method, http.MethodHead} {
			if r.method == http.MethodPost && method == http.MethodHead {
				continue
			}
			s.expect(t, send(method, r.path, "-Authorization"), want{status: 401}.with(showKey))
			s.expect(t, send(method, r.path, "Authorization: Bearer "+domain.GenerateKey()), want{status: 401}.with(wrongKey))
		}
	}
	s.expect(t, get("/v1/pets"), ok(`[]`))
}

func TestKeyThatDiffersInAnyCharacterOpensNothing(t *testing.T) {
	t.Parallel()
	s := newTestServer(t)
	wrong := []string{
		s.key[:len(s.key)-1], s.key + "0", s.key[1:], strings.ToLower(s.key), strings.ToUpper(s.key), s.key + s.key,
		strings.TrimPrefix(s.key, "petstore_"), "petstore_", "x", "ä", strings.Repeat("0", 10_000),
	}
	for i := range s.key {
		other := "x"
		if s.key[i] == 'x' {
			other = "y"
		}
		wrong = append(wrong, s.key[:i]+other+s.key[i+1:])
	}
	for _, key := range wrong {
		s.expect(t, get("/v1/pets", "Authorization: Bearer "+key), refused(401, "invalid_api_key").with(wrongKey).without(key+"\""))
	}
}

func TestUnknownRevokedAndExpiredKeysAreToldApartByNobody(t *testing.T) {
	t.Parallel()
	s := newTestServer(t)
	revoked, expired := s.issueKey(t), s.issueKey(t)
	s.exec(t, `UPDATE api_keys SET revoked_at = ? WHERE id = 2`, noon.UnixMilli())
	s.exec(t, `UPDATE api_keys SET expires_at = ? WHERE id = 3`, noon.UnixMilli())

	invalid := refused(401, "invalid_api_key").with(wrongKey)
	unknown := s.expect(t, get("/v1/pets", "Authorization: Bearer "+domain.GenerateKey()), invalid)
	for name, key := range map[string]string{"revoked": revoked, "expired": expired, "malformed": "x"} {
		got := s.expect(t, get("/v1/pets", "Authorization: Bearer "+key), invalid)
		if string(got.body) != string(unknown.body) {
			t.Errorf("%s: got %s, the unknown key got %s", name, got.body, unknown.body)
		}
	}
	s.expect(t, get("/v1/pets"), ok(`[]`))
}

func TestKeyExpiresAtItsMoment(t *testing.T) {
	t.Parallel()
	s := newTestServer(t)
	end := noon.Add(time.Hour)
	s.exec(t, `UPDATE api_keys SET expires_at = ?`, end.UnixMilli())
	s.clock.set(end.Add(-time.Millisecond))
	s.expect(t, get("/v1/pets"), ok(`[]`))
	s.clock.set(end)
	s.expect(t, get("/v1/pets"), refused(401, "invalid_api_key"))
}

func TestNewKeyWorksAtOnceAndOneThatAnotherProcessRevokedStopsWithinFiveSeconds(t *testing.T) {
	t.Parallel()
	s := newTestServer(t)
	show := "Authorization: Bearer " + s.issueKey(t)
	s.expect(t, get("/v1/pets", show), ok(`[]`))
	s.exec(t, `UPDATE api_keys SET revoked_at = ? WHERE id = 2`, noon.UnixMilli())
	for revoked := time.Now(); time.Since(revoked) < 5*time.Second; {
		a, err := s.send(t.Context(), get("/v1/pets", show))
		if err != nil {
			t.Fatal(err)
		}
		if a.StatusCode != http.StatusOK {
			break
		}
	}
	s.expect(t, get("/v1/pets", show), refused(401, "invalid_api_key").with(wrongKey))
	s.expect(t, get("/v1/pets"), ok(`[]`))
}
