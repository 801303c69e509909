package http_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"example.com/petstore/delivery/internal/binding"
	"example.com/petstore/domain"
)

// petSeeds returns bodies of POST /v1/pets.
func petSeeds() []string {
	seeds := []string{
		newRex, " \t\r\n{ \"name\" : \"Rex\" ,\n\"categoryId\" : 7 } \n", `{"n\u0061me":"Rex","categoryId":7}`,
		`{"name":"Rex","categoryId":7,"status":"available"}`, `{"categoryId":-9,"name":"x","status":"sold","id":9}`, `{"name":"x","categoryId":7,"status":"pending"}`,

		// not one JSON object
		``, " \n", `null`, `[]`, `[{"name":"Rex","categoryId":7}]`, `"Rex"`, `7`, `true`, `{`, `{"name":"Re`, `{"name":"Rex","categoryId":7`, newRex + `{}`, newRex + "x", newRex + "\x00",
		"\ufeff" + newRex, "{\x00}\x00", `{'name':'Rex','categoryId':7}`, `{name:"Rex",categoryId:7}`, `{"name":"Rex","categoryId":7,}`, `{"name":"Rex","categoryId":7/* */}`,

		// names that occur twice, or have another letter case, or are those of Go fields
		`{"name":"Rex","name":"Rex","categoryId":7}`, `{"name":"Rex","n\u0061me":"Tom","categoryId":7}`, `{"name":"x","categoryId":7,"x":1,"x":1}`,
		`{"name":"x","categoryId":7,"x":[{"y":1,"y":1}]}`, `{"Name":"Rex","categoryId":7}`, `{"name":"Rex","categoryID":7}`, `{"name":"x","categoryId":7,"Status":"gone"}`,
		`{"name":"x","categoryId":7,"Name":"Tom","CategoryId":null,"CategoryID":8,"category_id":8}`, `{"name":"x","categoryId":7,"ſtatus":"sold","\u212aname":1}`,

		// unknown members
		`{"name":"x","categoryId":7,"id":99}`, `{"name":"x","categoryId":7,"id":"x"}`, `{"name":"x","categoryId":7,"tags":[1,{"a":null}],"":0,"c":1e400}`,
		nestedBody(5000), nestedBody(9999), nestedBody(10_000), nestedBody(20_000),

		// text that is not I-JSON
		"{\"name\":\"R\xffx\",\"categoryId\":7}", "{\"name\":\"R\xc0\xafx\",\"categoryId\":7}", "{\"name\":\"R\xed\xa0\x80x\",\"categoryId\":7}", "{\"name\":\"x\",\"categoryId\":7,\"\xff\":1}",
		"{\"name\":\"x\",\"categoryId\":7,\"x\":\"\xff\"}", `{"name":"x","categoryId":7,"x":"\ud800"}`, `{"name":"x","categoryId":7,"\udfff":1}`, "{\"name\":\"R\nex\",\"categoryId\":7}",
		`{"name":"x","categoryId":7,"x":[{"y":"\ufdef"}]}`, `{"name":"x","categoryId":7,"\ufffe":1}`, `{"name":"","x":"\ufffe"}`,

		// several broken rules
		`{}`, `{"categoryId":7}`, `{"name":"Rex"}`, `{"name":1,"categoryId":"x","status":2}`, `{"name":null,"categoryId":null,"status":null}`,
		`{"categoryId":1.5,"status":"gone"}`, `{"status":"gone","name":" ","categoryId":0}`, `{"name":"` + strings.Repeat("x", 64<<10) + `","categoryId":7}`,
	}
	for _, name := range []string{
		`null`, `7`, `true`, `["Rex"]`, `{"first":"Rex"}`, `""`, `"   "`, `"\u00a0\u202f"`, `"\u3000\u2003\u2028\u205f\u1680"`, `" \u00a0\u3000"`, "\"R\u0085ex\"",
		`"R\u0000ex"`, `"R\nex"`, `"R\tex"`, `"R\u001bex"`, `"R\u007fex"`, `"R\u0085ex"`, `"R\u009fex"`, `"Rex\n"`, `"R\x65x"`, `"\"\\\/\b\f\n\r\t"`,
		`"x"`, `"  Rex  "`, `"<b>R&amp;D</b>"`, `"'; DROP TABLE pets; --"`, `"\"R\\ex\""`, `"R\u2028ex"`, `"\ud83d\udc36"`, `"e\u0301\u00e9\u212b"`, `"\u200b\u202e\ufeff"`, `"\ufffd"`,
		`"R\ud83dx"`, `"R\ude00x"`, `"\ude00\ud83d"`, "\"R\uffffx\"", `"R\uFDD0x"`, "\"R\U0010fffe\"", `"R\ud83f\udfff"`,
		`"` + strings.Repeat("x", 200) + `"`, `"` + strings.Repeat("x", 201) + `"`, `"` + strings.Repeat("🐶", 200) + `"`, `"` + strings.Repeat("🐶", 201) + `"`,
	} {
		seeds = append(seeds, `{"name":`+name+`,"categoryId":7}`)
	}
	for _, category := range []string{
		`0`, `-0`, `-1`, `9007199254740993`, `9223372036854775807`, `-9223372036854775808`, `9223372036854775808`, `-9223372036854775809`, strings.Repeat("9", 1000),
		`null`, `"7"`, `""`, `false`, `[7]`, `7.5`, `7.0`, `7e0`, `7e1`, `1E400`, `NaN`, `+7`, `07`, `0x7`,
	} {
		seeds = append(seeds, `{"name":"Rex","categoryId":`+category+`}`)
	}
	for _, status := range []string{`null`, `""`, `"gone"`, `"Available"`, `"sold "`, `1`, `["sold"]`} {
		seeds = append(seeds, `{"name":"Rex","categoryId":7,"status":`+status+`}`)
	}
	return seeds
}

// nestedBody returns a pet with an unknown member of nested arrays.
func nestedBody(depth int) string {
	return `{"name":"Rex","categoryId":7,"x":` + strings.Repeat("[", depth) + strings.Repeat("]", depth) + `}`
}

// FuzzCreatePet sends any body. The pet in the response and in the store, or the code and the rules in
// the error, are those of a second implementation of the documented rules.
func FuzzCreatePet(f *testing.F) {
	s := newFuzzServer(f)
	for _, seed := range petSeeds() {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, body []byte) {
		want, code, rules := parseNewPet(body)
		w := s.roundTrip(t, http.MethodPost, "/v1/pets", "", string(body), http.Header{})
		if code != "" {
			wantError(t, w, code, rules)
			return
		}
		var got struct {
			ID         int64             `json:"id"`
			Name       string            `json:"name"`
			CategoryID int64             `json:"categoryId"`
			Status     *domain.PetStatus `json:"status"`
		}
		if err := json.Unmarshal(w.Body.Bytes(), &got); err != nil || w.Code != http.StatusCreated {
			t.Fatalf("%.300q: got %d %s, want 201", body, w.Code, w.Body)
		}
		stored, err := s.store.Pets().Get(t.Context(), got.ID)
		if err != nil {
			t.Fatal(err)
		}
		created := domain.NewPet{Name: got.Name, CategoryID: got.CategoryID}
		if got.Status != nil {
			created.Status = *got.Status
		}
		if created != want || stored.New() != want || (got.Status != nil) != (want.Status != "") {
			t.Fatalf("%q: got %s, stored as %+v, want %+v", body, w.Body, stored, want)
		}
	})
}

// escape matches an escape sequence of JSON, or two that form a surrogate pair.
// loneSurrogate matches the escape sequence of one surrogate.
var (
	escape        = regexp.MustCompile(`\\(?:u[dD][89abAB]..\\u[dD][c-fC-F]..|u....|.)`)
	loneSurrogate = regexp.MustCompile(`^\\u[dD][89a-fA-F]..$`)
)

// parseNewPet is a second implementation of the documented rules, with encoding/json. It returns the
// code of the error, and the rules that a body breaks.
func parseNewPet(body []byte) (pet domain.NewPet, code string, rules []string) {
	var members map[string]json.RawMessage
	switch {
	case len(body) > 64<<10:
		return pet, "body_too_large", nil
	case !utf8.Valid(body), slices.ContainsFunc(escape.FindAll(body, -1), loneSurrogate.Match):
		return pet, "invalid_json", nil
	case json.Unmarshal(body, &members) != nil, members == nil, !isIJSON(body):
		return pet, "invalid_json", nil
	}
	// decode returns whether a member is present and has the right type.
	decode := func(name, typeRule string, required bool, decode func(text []byte) error) bool {
		member, present := members[name]
		switch {
		case !present && required:
			rules = append(rules, name+" is required")
		case string(member) == "null":
			rules = append(rules, name+" must not be null")
		case present && decode(member) != nil:
			rules = append(rules, name+" "+typeRule)
		default:
			return present
		}
		return false
	}
	text := func(target any) func([]byte) error {
		return func(text []byte) error { return json.Unmarshal(text, target) }
	}
	hasName := decode("name", "must be a string", true, text(&pet.Name))
	if hasName && (!regexp.MustCompile(`^\P{Cc}{1,200}$`).MatchString(pet.Name) || !regexp.MustCompile(`[^\s\p{Z}\x{85}]`).MatchString(pet.Name)) {
		rules = append(rules, "name "+domain.PetNameRule)
	}
	decode("categoryId", binding.IntegerRule, true, func(text []byte) (err error) {
		pet.CategoryID, err = strconv.ParseInt(string(text), 10, 64)
		return err
	})
	if decode("status", "must be a string", false, text(&pet.Status)) && !petStatus.MatchString(string(pet.Status)) {
		rules = append(rules, "status "+domain.PetStatusRule)
	}
	if rules != nil {
		return pet, "validation_failed", rules
	}
	return pet, "", nil
}

// isIJSON reports whether no object in valid JSON has a duplicate name, and no text a noncharacter.
func isIJSON(text []byte) bool {
	decoder := json.NewDecoder(bytes.NewReader(text))
	decoder.UseNumber()        // some exceed float64
	var seen []map[string]bool // of the enclosing objects, nil for an array
	var isName []bool
	for {
		token, err := decoder.Token()
		if err != nil {
			return err == io.EOF
		}
		if text, _ := token.(string); strings.ContainsFunc(text, func(r rune) bool { return r&0xfffe == 0xfffe || 0xfdd0 <= r && r <= 0xfdef }) {
			return false
		}
		last := len(seen) - 1
		if token == json.Delim('}') || token == json.Delim(']') {
			seen, isName = seen[:last], isName[:last]
			continue
		}
		if last >= 0 && seen[last] != nil {
			if name, _ := token.(string); isName[last] {
				if seen[last][name] {
					return false
				}
				seen[last][name] = true
			}
			isName[last] = !isName[last]
		}
		switch token {
		case json.Delim('{'):
			seen, isName = append(seen, map[string]bool{}), append(isName, true)
		case json.Delim('['):
			seen, isName = append(seen, nil), append(isName, false)
		}
	}
}

func postOrder(body string, header ...string) request {
	return request{method: http.MethodPost, path: "/v1/store/orders", header: header, body: body}
}

func orderAction(id int, action string) request {
	return newRequest(http.MethodPost, fmt.Sprintf("/v1/store/orders/%d/%s", id, action))
}

// usecase shows the rules of orders.
func TestOrderIsPlacedAndEnded(t *testing.T) {
	t.Parallel()
	s := newTestServer(t)
	s.createPets(t, newPets(2, "available")...)
	const order = `{"id":%d,"petId":%[1]d,"status":%q,"createdAt":"2026-11-20T12:00:00.000Z","updatedAt":%q}`
	for _, want := range []struct {
		id             int
		action, status string
	}{{1, "deliver", "delivered"}, {2, "cancel", "cancelled"}} {
		s.clock.set(noon)
		placed := fmt.Sprintf(order, want.id, "placed", "2026-11-20T12:00:00.000Z")
		s.expect(t, postOrder(fmt.Sprintf(`{"petId":%d}`, want.id)), created(placed).withHeader(fmt.Sprintf("Location: ./orders/%d", want.id)))
		s.expect(t, get(fmt.Sprintf("/v1/store/orders/%d", want.id)), ok(placed))
		s.clock.advance(time.Hour + 7*time.Millisecond)
		ended := fmt.Sprintf(order, want.id, want.status, "2026-11-20T13:00:00.007Z")
		s.expect(t, orderAction(want.id, want.action), ok(ended))
		s.expect(t, get(fmt.Sprintf("/v1/store/orders?petId=%d", want.id)), ok(`[`+ended+`]`))
	}
	s.expect(t, orderAction(1, "cancel"), rejected(409, "order_state_conflict"))
	s.expect(t, postOrder(`{"petId":1}`), rejected(409, "pet_not_available", "1"))
	s.expect(t, postOrder(`{"petId":-9223372036854775808}`), rejected(404, "pet_not_found"))
}

// FuzzCreatePet has more.
func TestPlaceOrderRejectsInvalidBody(t *testing.T) {
	t.Parallel()
	s := newTestServer(t)
	for _, body := range []string{`{}`, `{"petID":1}`, `{"petId":null}`, `{"petId":"1"}`, `{"petId":1.0}`, `{"petId":9223372036854775808}`} {
		s.expect(t, postOrder(body), rejected(400, "validation_failed", "petId"))
	}
	s.expect(t, postOrder(`{"petId":1`), rejected(400, "invalid_json"))
	s.expect(t, postOrder(`{"petId":1}`, "-Content-Type"), rejected(415, "unsupported_media_type"))
	s.expect(t, postOrder(`{"petId":1}`, `Idempotency-Key: ""`), rejected(400, "invalid_idempotency_key"))
}

func TestOrderIsPlacedOncePerIdempotencyKey(t *testing.T) {
	t.Parallel()
	s := newTestServer(t)
	s.createPets(t, newPets(2, "available")...)
	const one = "Idempotency-Key: one"
	s.expect(t, postOrder(`{"petId":3}`, one), rejected(404, "pet_not_found"))
	s.expect(t, postOrder(`{"petId":1}`, one), created("").withHeader(notReplayed))
	s.expect(t, orderAction(1, "cancel"), ok(""))
	s.expect(t, postOrder(`{"petId":1}`, one), created(`{
		"id":1,"petId":1,"status":"placed","createdAt":"2026-11-20T12:00:00.000Z","updatedAt":"2026-11-20T12:00:00.000Z"
	}`).withHeader(replayed, "Location: ./orders/1"))
	s.expect(t, postOrder(`{"petId":2}`, one), rejected(422, "idempotency_key_reused"))
	s.expect(t, postPet(newRex, one), rejected(422, "idempotency_key_reused"))
	s.expect(t, get("/v1/pets?status=pending"), ok(`[]`))
}
