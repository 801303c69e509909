package http_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"example.com/petstore/domain"
)

const soldRex = `{"id":1,"name":"Rex","categoryId":7,"status":"sold"}`

func TestListRejectsInvalidLimitAndAfter(t *testing.T) {
	t.Parallel()
	s := newTestServer(t)
	for _, list := range []string{"/v1/pets", "/v1/store/orders"} {
		for parameter, values := range map[string]struct{ valid, invalid []string }{
			"limit": {
				[]string{"1", "2", "99", "100", "20", "007"},
				[]string{
					"0", "101", "-1", "-0", "1000000", "2147483648", "4294967297", "9223372036854775808", "99999999999999999999999",
					"", "+", "%2B5", "+5", "5.0", "5.", "5e0", "0x10", "1_0", "five", "%205", "5%20", "5,6", "٥", "5%00", "null", "true", "[5]",
					"5&limit=5", "5&limit=", "5&l%69mit=6",
				},
			},
			"after": {
				[]string{"0", "1", "9223372036854775807"},
				[]string{
					"", "-1", "-0", "-00", "-9223372036854775808", "9223372036854775808", "-9223372036854775809", "+1", "%2B1", "1.0", "1e3", "0x1",
					"1_0", "x", "--1", "1&after=1", "1&after=2",
				},
			},
		} {
			for _, value := range values.valid {
				s.expect(t, get(list+"?"+parameter+"="+value), ok(`[]`))
			}
			for _, value := range values.invalid {
				s.expect(t, get(list+"?"+parameter+"="+value), rejected(400, "invalid_parameter", parameter).withHeader("-Link"))
			}
		}
		for _, query := range []string{"limit", "l%69mit=0"} {
			s.expect(t, get(list+"?"+query), rejected(400, "invalid_parameter", "limit"))
		}
		s.expect(t, get(list+"?Limit=0&LIMIT=x"), ok(`[]`)) // another letter case is another parameter
	}
}

func TestListPetsFiltersByStatus(t *testing.T) {
	t.Parallel()
	s := newTestServer(t)
	s.createPets(t, newPets(1, "sold")...)
	invalid := rejected(400, "invalid_parameter", "status")
	s.run(t, []testCase{
		{"none", get("/v1/pets"), ok(`[` + soldRex + `]`)},
		{"equal", get("/v1/pets?status=sold"), ok(`[` + soldRex + `]`)},
		{"escaped", get("/v1/pets?status=%73old"), ok(`[` + soldRex + `]`)},
		{"available", get("/v1/pets?status=available"), ok(`[]`)},
		{"pending", get("/v1/pets?status=pending"), ok(`[]`)},
		{"empty", get("/v1/pets?status="), invalid},
		{"no value", get("/v1/pets?status"), invalid},
		{"unknown", get("/v1/pets?status=gone"), invalid.withoutText("gone")},
		{"with a capital", get("/v1/pets?status=Sold"), invalid},
		{"with a space", get("/v1/pets?status=sold%20"), invalid},
		{"two in one value", get("/v1/pets?status=sold,pending"), invalid},
		{"twice", get("/v1/pets?status=sold&status=sold"), invalid},
		{"two", get("/v1/pets?status=sold&status=pending"), invalid},
		{"with a quote", get("/v1/pets?status='"), invalid},
	})
}

func TestListRejectsMalformedQuery(t *testing.T) {
	t.Parallel()
	s := newTestServer(t)
	s.createPets(t, newPets(1, "sold")...)
	all, invalid := ok(`[`+soldRex+`]`), rejected(400, "invalid_parameter")
	s.run(t, []testCase{
		{"empty", get("/v1/pets?"), all},
		{"separators only", get("/v1/pets?&&"), all},
		{"unknown parameters", get("/v1/pets?offset=5&page=2&x&=y&sort=-id"), all},
		{"unknown parameter twice and empty", get("/v1/pets?x=&x="), all},
		{"all parameters invalid", get("/v1/pets?limit=0&status=gone&after=x"), rejected(400, "invalid_parameter", "limit", "status", "after")},
		{"incomplete escape", get("/v1/pets?status=%"), invalid},
		{"incomplete escape with one digit", get("/v1/pets?status=%4"), invalid},
		{"escape without digits", get("/v1/pets?limit=%zz"), invalid},
		{"invalid escape in an unknown parameter", get("/v1/pets?x=%zz"), invalid},
		{"invalid escape in a name", get("/v1/pets?%zz=1"), invalid},
		{"semicolon", get("/v1/pets?limit=1;status=sold"), invalid},
		{"semicolon in an unknown parameter", get("/v1/pets?x=a;b"), invalid},
		{"invalid UTF-8", get("/v1/pets?status=%ff"), invalid},
	})
}

func TestGetPetWithInvalidIDIsNotFound(t *testing.T) {
	t.Parallel()
	s := newTestServer(t)
	created := s.createPets(t, newPets(10, "")...)
	for _, id := range []string{
		"0", "-1", "11", "9223372036854775807", "-9223372036854775808", "9223372036854775808", "-9223372036854775809",
		"99999999999999999999999", "+1", "%2B1", "1.0", "1e0", "0x1", "1_0", "one", "null", "1%20", "%201", "1%00", "1;x", "1,2", "١", "*", "--1", "-",
		"1%27%20OR%201=1",
	} {
		s.expect(t, get("/v1/pets/"+id), rejected(404, "pet_not_found"))
	}
	for id, pet := range map[string]domain.Pet{"1": created[0], "%31": created[0], "10": created[9], "010": created[9]} {
		s.expect(t, get("/v1/pets/"+id), ok(fmt.Sprintf(`{"id":%d,"name":"Rex","categoryId":7}`, pet.ID)))
	}
}

func TestBodyMustHaveJSONMediaType(t *testing.T) {
	t.Parallel()
	s := newTestServer(t)
	post := func(header ...string) request { return postPet(newRex, header...) }
	unsupported := rejected(415, "unsupported_media_type")
	s.run(t, []testCase{
		{"JSON", post("Content-Type: application/json"), created("")},
		{"UTF-8", post("Content-Type: application/json; charset=utf-8"), created("")},
		{"UTF-8 in upper case", post("Content-Type: Application/JSON;Charset=UTF-8"), created("")},
		{"UTF-8 quoted", post(`Content-Type: application/json; charset="utf-8"`), created("")},
		{"identity", post("Content-Encoding: identity"), created("")},

		{"no type", post("-Content-Type"), unsupported},
		{"empty type", post("Content-Type: "), unsupported},
		{"two types", post("Content-Type: application/json", "Content-Type: application/json"), unsupported},
		{"two types in one header", post("Content-Type: application/json, application/json"), unsupported},
		{"text", post("Content-Type: text/plain"), unsupported},
		{"JSON as text", post("Content-Type: text/json"), unsupported},
		{"a form", post("Content-Type: application/x-www-form-urlencoded"), unsupported},
		{"a type with JSON as prefix", post("Content-Type: application/jsonp"), unsupported},
		{"a structured suffix", post("Content-Type: application/merge-patch+json"), unsupported},
		{"any type", post("Content-Type: */*"), unsupported},
		{"no subtype", post("Content-Type: application"), unsupported},
		{"another charset", post("Content-Type: application/json; charset=iso-8859-1"), unsupported},
		{"UTF-16", post("Content-Type: application/json; charset=utf-16"), unsupported},
		{"an empty charset", post(`Content-Type: application/json; charset=""`), unsupported},
		{"two charsets", post("Content-Type: application/json; charset=utf-8; charset=utf-16"), unsupported},
		{"another parameter", post("Content-Type: application/json; version=1"), unsupported},
		{"another parameter after the charset", post("Content-Type: application/json; charset=utf-8; version=1"), unsupported},
		{"invalid parameters", post("Content-Type: application/json; charset"), unsupported},

		{"gzip", post("Content-Encoding: gzip"), unsupported},
		{"deflate", post("Content-Encoding: deflate"), unsupported},
		{"an unknown encoding", post("Content-Encoding: x"), unsupported},
		{"identity, then gzip", post("Content-Encoding: identity", "Content-Encoding: gzip"), unsupported},
		{"identity and gzip", post("Content-Encoding: identity, gzip"), unsupported},
	})
}

func TestMediaTypeIsIgnoredWithoutBody(t *testing.T) {
	t.Parallel()
	s := newTestServer(t)
	s.expect(t, get("/v1/pets", "Content-Type: text/plain", "Content-Encoding: gzip", "Accept: text/html"), ok(`[]`))
}

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
