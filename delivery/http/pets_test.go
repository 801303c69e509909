package http_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/go-json-experiment/json/jsontext"

	"example.com/petstore/domain"
	"example.com/petstore/internal/binding"
	"example.com/petstore/internal/port"
	"example.com/petstore/internal/record"
)

// petSeeds returns bodies of POST /v1/pets.
func petSeeds() []string {
	seeds := []string{
		newRex, " \t\r\n{ \"name\" : \"Rex\" ,\n\"categoryId\" : 7 } \n", `{"n\u0061me":"Rex","categoryId":7}`,
		`{"name":"Rex","categoryId":7,"status":"available"}`, `{"categoryId":-9,"name":"x","status":"sold","id":9}`,
		`{"name":"x","categoryId":7,"status":"pending"}`,

		// not one JSON object
		``, " \n", `null`, `[]`, `[{"name":"Rex","categoryId":7}]`, `"Rex"`, `7`, `true`, `{`, `{"name":"Re`, `{"name":"Rex","categoryId":7`,
		newRex + `{}`, newRex + "x", newRex + "\x00",
		"\ufeff" + newRex, "\ufeff", "\ufeff\ufeff" + newRex, " \ufeff" + newRex, "{\x00}\x00",
		`{'name':'Rex','categoryId':7}`, `{name:"Rex",categoryId:7}`, `{"name":"Rex","categoryId":7,}`,
		`{"name":"Rex","categoryId":7/* */}`,

		// names that occur twice, have another letter case, or are names of Go fields
		`{"name":"Rex","name":"Rex","categoryId":7}`, `{"name":"Rex","n\u0061me":"Tom","categoryId":7}`, `{"name":"x","categoryId":7,"x":1,"x":1}`,
		`{"name":"x","categoryId":7,"x":[{"y":1,"y":1}]}`, `{"Name":"Rex","categoryId":7}`, `{"name":"Rex","categoryID":7}`,
		`{"name":"x","categoryId":7,"Status":"gone"}`,
		`{"name":"x","categoryId":7,"Name":"Tom","CategoryId":null,"CategoryID":8,"category_id":8}`,
		`{"name":"x","categoryId":7,"ſtatus":"sold","\u212aname":1}`,

		// names that are nearly right, and names that are not
		`{"nmae":"Rex","categoryId":7}`, `{"name":"Rex","catgoryId":7}`, `{"name":"x","category_id":7,"stauts":"sold"}`,
		`{"name":"x","categoryId":7,"STAUTS":"sold","statuss":"sold"}`, `{"naem":"Rex","category":7}`, `{"mane":"Rex","eamn":"Rex"}`,
		`{"name":"x","categoryId":7,"age":3,"date":"","kind":0,"ids":1,"breed":"","categories":[],"photoUrls":[],"tags":[],"petId":2}`,

		// unknown members
		`{"name":"x","categoryId":7,"id":99}`, `{"name":"x","categoryId":7,"id":"x"}`,
		`{"name":"x","categoryId":7,"tags":[1,{"a":null}],"":0,"c":1e400}`,
		nestedBody(5000), nestedBody(9999), nestedBody(10_000), nestedBody(20_000),

		// text that is not I-JSON
		"{\"name\":\"R\xffx\",\"categoryId\":7}", "{\"name\":\"R\xc0\xafx\",\"categoryId\":7}", "{\"name\":\"R\xed\xa0\x80x\",\"categoryId\":7}",
		"{\"name\":\"x\",\"categoryId\":7,\"\xff\":1}",
		"{\"name\":\"x\",\"categoryId\":7,\"x\":\"\xff\"}", `{"name":"x","categoryId":7,"x":"\ud800"}`, `{"name":"x","categoryId":7,"\udfff":1}`,
		"{\"name\":\"R\nex\",\"categoryId\":7}",
		`{"name":"x","categoryId":7,"x":[{"y":"\ufdef"}]}`, `{"name":"x","categoryId":7,"\ufffe":1}`, `{"name":"","x":"\ufffe"}`,

		// several broken rules
		`{}`, `{"categoryId":7}`, `{"name":"Rex"}`, `{"name":1,"categoryId":"x","status":2}`, `{"name":null,"categoryId":null,"status":null}`,
		`{"categoryId":1.5,"status":"gone"}`, `{"status":"gone","name":" ","categoryId":0}`,
		`{"name":"` + strings.Repeat("x", 64<<10) + `","categoryId":7}`,
	}
	for _, name := range []string{
		`null`, `7`, `true`, `["Rex"]`, `{"first":"Rex"}`, `""`, `"   "`, `"\u00a0\u202f"`, `"\u3000\u2003\u2028\u205f\u1680"`, `" \u00a0\u3000"`,
		"\"R\u0085ex\"",
		`"R\u0000ex"`, `"R\nex"`, `"R\tex"`, `"R\u001bex"`, `"R\u007fex"`, `"R\u0085ex"`, `"R\u009fex"`, `"Rex\n"`, `"R\x65x"`, `"\"\\\/\b\f\n\r\t"`,
		`"\u200b"`, `"\ufeff"`, `"\u00ad \u3164\udb40\udc01"`, `"\u200bx"`, `"\ufffb"`, "\"\U000e0001\"",
		`"x"`, `"  Rex  "`, `"<b>R&amp;D</b>"`, `"'; DROP TABLE pets; --"`, `"\"R\\ex\""`, `"R\u2028ex"`, `"\ud83d\udc36"`, `"e\u0301\u00e9\u212b"`,
		`"\u200b\u202e\ufeff"`, `"\ufffd"`,
		`"R\ud83dx"`, `"R\ude00x"`, `"\ude00\ud83d"`, "\"R\uffffx\"", `"R\uFDD0x"`, "\"R\U0010fffe\"", `"R\ud83f\udfff"`,
		`"` + strings.Repeat("x", 200) + `"`, `"` + strings.Repeat("x", 201) + `"`, `"` + strings.Repeat("🐶", 200) + `"`,
		`"` + strings.Repeat("🐶", 201) + `"`,
	} {
		seeds = append(seeds, `{"name":`+name+`,"categoryId":7}`)
	}
	for _, category := range []string{
		`0`, `-0`, `-1`, `9007199254740993`, `9223372036854775807`, `-9223372036854775808`, `9223372036854775808`, `-9223372036854775809`,
		strings.Repeat("9", 1000),
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

// FuzzCreatePet sends any body. A second implementation of the documented rules must return the same pet as
// the response and the store, or the same code and rules as the error.
func FuzzCreatePet(f *testing.F) {
	s := newFuzzServer(f)
	for _, seed := range petSeeds() {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, body []byte) {
		want, code, rules := parsePet(body, nil)
		w := s.roundTrip(t, http.MethodPost, "/v1/pets", "", string(body), http.Header{})
		if code != "" {
			wantError(t, w, code, rules)
			return
		}
		var got record.Pet
		if err := json.Unmarshal(w.Body.Bytes(), &got); err != nil || w.Code != http.StatusCreated {
			t.Fatalf("%.300q: got %d %s, want 201", body, w.Code, w.Body)
		}
		stored, err := s.store.Pets().Get(t.Context(), got.ID)
		check(t, err)
		created := domain.NewPet{Name: got.Name, CategoryID: got.CategoryID, Status: got.Status}
		if created != want || stored.New() != want || strings.Contains(w.Body.String(), `,"status":`) != (want.Status != "") {
			t.Fatalf("%q: got %s, stored as %+v, want %+v", body, w.Body, stored, want)
		}
	})
}

// FuzzUpdatePet corrects an animal with any body. A second implementation of the documented rules must
// return the same animal as the response and the store, or the same code and rules as the error.
func FuzzUpdatePet(f *testing.F) {
	s := newFuzzServer(f)
	patches := []string{`{"name":"Tom"}`, `{"categoryId":8}`, `{"status":null}`, `{"status":null,"name":null}`, `{"statu\u0073":"sold"}`}
	for _, seed := range append(petSeeds(), patches...) {
		f.Add([]byte(seed))
	}
	before := domain.NewPet{Name: "Before", CategoryID: 1, Status: domain.PetAvailable}
	f.Fuzz(func(t *testing.T, body []byte) {
		var created []domain.Pet
		check(t, s.store.InTx(t.Context(), func(ctx context.Context, r port.Repositories) (err error) {
			created, err = r.Pets.Create(ctx, []domain.NewPet{before})
			return err
		}))
		want, code, rules := parsePet(body, &before)
		w := s.roundTrip(t, http.MethodPatch, fmt.Sprint("/v1/pets/", created[0].ID), "", string(body), http.Header{})
		stored, err := s.store.Pets().Get(t.Context(), created[0].ID)
		check(t, err)
		if code != "" {
			if wantError(t, w, code, rules); stored != created[0] {
				t.Fatalf("%.300q: got the error %s, and stored %+v", body, w.Body, stored)
			}
			return
		}
		var got record.Pet
		if err := json.Unmarshal(w.Body.Bytes(), &got); err != nil || w.Code != http.StatusOK || stored.New() != want || got != record.PetOf(stored) {
			t.Fatalf("%.300q: got %d %s, stored as %+v, want %+v", body, w.Code, w.Body, stored, want)
		}
	})
}

// visible matches a text with a character that is neither white space nor default-ignorable. The ranges are what
// perl matches with \p{Default_Ignorable_Code_Point}.
var visible = regexp.MustCompile(`[^\s\p{Z}\x{85}\x{AD}\x{34F}\x{61C}\x{115F}\x{1160}\x{17B4}\x{17B5}\x{180B}-\x{180F}\x{200B}-\x{200F}` +
	`\x{202A}-\x{202E}\x{2060}-\x{206F}\x{3164}\x{FE00}-\x{FE0F}\x{FEFF}\x{FFA0}\x{FFF0}-\x{FFF8}\x{1BCA0}-\x{1BCA3}` +
	`\x{1D173}-\x{1D17A}\x{E0000}-\x{E0FFF}]`)

// parsePet is a second implementation of the documented rules, with encoding/json. body is a new animal, or
// a correction of corrected if that is not nil. It returns the code of the error and the rules that the
// body breaks.
func parsePet(body []byte, corrected *domain.NewPet) (pet domain.NewPet, code string, rules []string) {
	if corrected != nil {
		pet = *corrected
	}
	var members map[string]json.RawMessage
	size := len(body)
	body = bytes.TrimPrefix(body, []byte("\ufeff"))
	switch {
	case size > 64<<10:
		return pet, "body_too_large", nil
	case json.Unmarshal(body, &members) != nil, members == nil, !isIJSON(body):
		return pet, "invalid_json", nil
	}
	names := memberNames(body)
	// decode reports whether a member is present, has the right type, and occurs in no other spelling. It adds
	// the rule that the member breaks, if any, to rules.
	decode := func(name, typeRule string, required bool, decode func(text []byte) error) bool {
		member, present := members[name]
		other := slices.IndexFunc(names, func(n string) bool { return n != name && isNearly(n, name) })
		rule := ""
		switch {
		case string(member) == "null" && name != "status":
			rule = " must not be null"
		case present && decode(member) != nil:
			rule = " " + typeRule
		}
		switch {
		case other >= 0 && (rule == "" || other < slices.Index(names, name)): // the first violation of a member is reported
			rule = fmt.Sprintf(" must be spelt %s, not %q", name, names[other])
		case !present && required && corrected == nil:
			rule = " is required"
		}
		if rule != "" {
			rules = append(rules, name+rule)
		}
		return present && rule == ""
	}
	text := func(target any) func([]byte) error {
		return func(text []byte) error { return json.Unmarshal(text, target) }
	}
	hasName := decode("name", "must be a string", true, text(&pet.Name))
	if hasName && (!regexp.MustCompile(`^\P{Cc}{1,200}$`).MatchString(pet.Name) || !visible.MatchString(pet.Name)) {
		rules = append(rules, "name "+domain.PetNameRule)
	}
	decode("categoryId", binding.IntegerRule, true, func(text []byte) (err error) {
		if pet.CategoryID, err = strconv.ParseInt(string(text), 10, 64); string(text) == "-0" {
			err = strconv.ErrSyntax
		}
		return err
	})
	switch hasStatus := decode("status", "must be a string", false, text(&pet.Status)); {
	case string(members["status"]) == "null":
		pet.Status = ""
	case hasStatus && !petStatus.MatchString(string(pet.Status)):
		rules = append(rules, "status "+domain.PetStatusRule)
	}
	if rules != nil {
		return pet, "validation_failed", rules
	}
	return pet, "", nil
}

// isNearly reports whether a name is nearly a known one: in lower case, one character differs, or two in a name of 6
// characters or more, or two are exchanged.
func isNearly(name, known string) bool {
	a, b := []rune(strings.ToLower(name)), []rune(strings.ToLower(known))
	if differs(a, b, 1) || len(b) >= 6 && differs(a, b, 2) {
		return true
	}
	near := differs(a, b, 2)
	slices.Sort(a)
	slices.Sort(b)
	return near && slices.Equal(a, b)
}

// differs reports whether at most n characters must be removed, added or replaced to make a text equal to another.
func differs(a, b []rune, n int) bool {
	for len(a) > 0 && len(b) > 0 && a[0] == b[0] {
		a, b = a[1:], b[1:]
	}
	switch {
	case len(a) == 0 || len(b) == 0:
		return len(a)+len(b) <= n
	case n == 0:
		return false
	}
	return differs(a[1:], b, n-1) || differs(a, b[1:], n-1) || differs(a[1:], b[1:], n-1)
}

// memberNames returns the names of the members of a JSON object, in order.
func memberNames(object []byte) (names []string) {
	decoder := json.NewDecoder(bytes.NewReader(object))
	_, _ = decoder.Token() // the object is valid
	for decoder.More() {
		name, _ := decoder.Token()
		names = append(names, name.(string))
		_ = decoder.Decode(new(json.RawMessage))
	}
	return names
}

// isIJSON reports whether a text is I-JSON. jsontext checks duplicate names, UTF-8 and surrogates. isIJSON
// itself checks that no text has a noncharacter.
func isIJSON(text []byte) bool {
	isNoncharacter := func(r rune) bool { return r&0xfffe == 0xfffe || 0xfdd0 <= r && r <= 0xfdef }
	for decoder := jsontext.NewDecoder(bytes.NewReader(text)); ; {
		token, err := decoder.ReadToken()
		switch {
		case err != nil:
			return errors.Is(err, io.EOF)
		case token.Kind() == '"' && strings.ContainsFunc(token.String(), isNoncharacter):
			return false
		}
	}
}

func TestInvalidOrUnknownIDIsNotFound(t *testing.T) {
	t.Parallel()
	s := newTestServer(t)
	s.createPets(t, newPets(10, "")...)
	for _, id := range []string{ // FuzzQuery has more numbers
		"0", "-1", "11", "9223372036854775807", "-9223372036854775808", "9223372036854775808", "%2B1", "1.0", "one", "1%20",
		"1%00", "1;x", "1,2", "١", "*", "1%27%20OR%201=1",
	} {
		s.expect(t, get("/v1/pets/"+id), rejected(404, "pet_not_found"))
		for _, order := range []request{get(""), newRequest("POST", "/deliver"), newRequest("POST", "/cancel")} {
			s.expect(t, newRequest(order.method, "/v1/store/orders/"+id+order.path), rejected(404, "order_not_found"))
		}
	}
	for id, want := range map[string]int{"1": 1, "%31": 1, "10": 10, "010": 10} {
		s.expect(t, get("/v1/pets/"+id), ok(fmt.Sprintf(`{"id":%d,"name":"Rex","categoryId":7}`, want)))
	}
}

// patched returns a request that corrects the animal 1.
func patched(body string, headers ...string) request {
	return request{method: http.MethodPatch, path: "/v1/pets/1", header: headers, body: body}
}

func TestPatchReplacesWhatItHas(t *testing.T) {
	t.Parallel()
	s := newTestServer(t)
	s.createPets(t, domain.NewPet{Name: "Rxe", CategoryID: 7, Status: domain.PetAvailable})
	const rex = `{"id":1,"name":"Rex","categoryId":7,"status":"available"}`
	for _, step := range []struct{ patch, want string }{
		{`{}`, `{"id":1,"name":"Rxe","categoryId":7,"status":"available"}`},
		{`{"name":"Rex"}`, rex},
		{`{"name":"Rex"}`, rex},
		{`{"categoryId":-8,"id":9,"x":null}`, `{"id":1,"name":"Rex","categoryId":-8,"status":"available"}`},
		{`{"status":null}`, `{"id":1,"name":"Rex","categoryId":-8}`},
		{`{"status":null}`, `{"id":1,"name":"Rex","categoryId":-8}`},
		{`{"status":"sold","categoryId":7,"name":"Bello"}`, `{"id":1,"name":"Bello","categoryId":7,"status":"sold"}`},
	} {
		res := s.expect(t, patched(step.patch), ok(step.want).withHeader("-Location", "-Deprecation", "-Sunset", "Cache-Control: no-store"))
		got := s.expect(t, get("/v1/pets/1"), ok(step.want)).Header.Get("ETag")
		if tag := res.Header.Get("ETag"); tag != got || tag == "" {
			t.Errorf("%s: got ETag %s, and %s from getPet", step.patch, tag, got)
		}
		s.expect(t, get("/v1/pets"), ok("["+step.want+"]"))
		s.expect(t, get("/v1/pets/1", "If-None-Match: W/"+got), wantResponse{status: 304}.withHeader(deprecationHeaders(1)...))
	}
	s.expect(t, patched(`{"name":"Rex"}`, "Content-Type: application/merge-patch+json; charset=UTF-8"), ok(""))
}

func TestInvalidPatchIsRejected(t *testing.T) {
	t.Parallel()
	s := newTestServer(t)
	s.createPets(t, domain.NewPet{Name: "Rex", CategoryID: 7})
	for patch, message := range map[string]string{
		`{"name":null}`:                      "name must not be null",
		`{"categoryId":null,"status":""}`:    "categoryId must not be null; status must be available, pending or sold",
		`{"name":" ","status":"none"}`:       "name must be 1 to 200 characters",
		`{"categoryId":1.5,"status":1}`:      "categoryId must be a 64-bit integer",
		`{"Name":"x"}`:                       `name must be spelt name, not "Name"`,
		`{"nmae":"x","stauts":"sold"}`:       `name must be spelt name, not "nmae"; status must be spelt status, not "stauts"`,
		`{"name":["x"],"status":["sold"]}`:   "name must be a string; status must be a string",
		`{"status":"Sold","categoryId":"7"}`: "status must be available",
	} {
		res := s.expect(t, patched(patch), rejected(400, "validation_failed"))
		if !strings.Contains(string(res.body), strings.ReplaceAll(message, `"`, `\"`)) {
			t.Errorf("%s: got %s, want %s", patch, res.body, message)
		}
	}
	for _, patch := range []string{``, `null`, `[]`, `"x"`, `{"name":"x","name":"x"}`, `{"name":"x"}{}`} {
		s.expect(t, patched(patch), rejected(400, "invalid_json"))
	}
	merge, tooLarge := "Content-Type: application/merge-patch+json", `{"name":"`+strings.Repeat("x", 64<<10)+`"}`
	accepted := "Accept-Patch: application/merge-patch+json, application/json"
	unsupported := rejected(415, "unsupported_media_type", "application/json or application/merge-patch+json").withHeader(accepted)
	s.expect(t, patched(`{}`, "Content-Type: text/plain"), unsupported)
	s.expect(t, newRequest("OPTIONS", "/v1/pets/1"), wantResponse{status: 204}.withHeader(accepted))
	s.expect(t, newRequest("OPTIONS", "/v1/pets"), wantResponse{status: 204}.withHeader("-Accept-Patch"))
	s.expect(t, patched(tooLarge), rejected(413, "body_too_large"))
	s.expect(t, postPet(newRex, merge), rejected(415, "unsupported_media_type", "application/json").withHeader("-Accept-Patch"))
	for _, path := range []string{"/v1/pets/2", "/v1/pets/none"} {
		r := patched(`{}`)
		r.path = path
		s.expect(t, r, rejected(404, "pet_not_found"))
	}
	s.expect(t, get("/v1/pets"), ok(`[{"id":1,"name":"Rex","categoryId":7}]`))
}

func TestConditionOfAChangeIsTheETag(t *testing.T) {
	t.Parallel()
	s := newTestServer(t)
	first := s.expect(t, postPet(newRex), created("")).Header.Get("ETag")
	second := s.expect(t, patched(`{"name":"Tom"}`, "If-Match: "+first), ok("")).Header.Get("ETag")
	failed := rejected(412, "precondition_failed")
	s.expect(t, patched(`{"name":"Tom"}`, "If-Match: "+first), ok("").withHeader("ETag: "+second)) // a retry
	for _, condition := range []string{first, "W/" + first, `"x"`, first + `, W/"x"`, second[1 : len(second)-1], ""} {
		s.expect(t, patched(`{"name":"Pip"}`, "If-Match: "+condition), failed)
		s.expect(t, newRequest("DELETE", "/v1/pets/1", "If-Match: "+condition), failed)
	}
	s.expect(t, patched(`{"name":"Pip"}`, "If-Match: "+first+" , "+second), ok(""))
	s.expect(t, patched(`{"name":"Rex"}`, "If-Match: *"), ok("").withHeader("ETag: "+first))
	s.expect(t, newRequest("DELETE", "/v1/pets/1", `If-Match: "x"`, "If-Match: "+first), wantResponse{status: 204})
	for _, condition := range []string{"*", first} {
		s.expect(t, newRequest("DELETE", "/v1/pets/1", "If-Match: "+condition), rejected(404, "pet_not_found"))
		s.expect(t, patched(`{}`, "If-Match: "+condition), rejected(404, "pet_not_found"))
	}
}

func TestRemovedAnimalIsGone(t *testing.T) {
	t.Parallel()
	s := newTestServer(t)
	s.createPets(t, newPets(3, "available")...)
	s.expect(t, get("/v1/pets?limit=2"), ok(""))
	for _, step := range []struct {
		order, message string
		status         int
	}{{"", "cancel that order", 409}, {"/deliver", "If the animal comes back, add it again", 409}, {"/cancel", "", 204}} {
		pet := map[string]int{"": 1, "/deliver": 2, "/cancel": 3}[step.order]
		s.expect(t, postOrder(fmt.Sprintf(`{"petId":%d}`, pet)), created(""))
		if step.order != "" {
			s.expect(t, newRequest("POST", fmt.Sprintf("/v1/store/orders/%d%s", pet, step.order)), ok(""))
		}
		path := fmt.Sprintf("/v1/pets/%d", pet)
		if step.status == 204 {
			res := s.expect(t, newRequest("DELETE", path), wantResponse{status: 204}.withHeader("-Content-Type", "-Deprecation"))
			if len(res.body) != 0 {
				t.Errorf("got the body %s, want none", res.body)
			}
			s.expect(t, newRequest("DELETE", path), rejected(404, "pet_not_found"))
			continue
		}
		s.expect(t, newRequest("DELETE", path), rejected(409, "pet_ordered", step.message))
		r := patched(`{"status":"available","name":"Tom"}`)
		r.path = path
		s.expect(t, r, rejected(409, "pet_ordered", step.message))
		r.body = `{"name":"Tom"}`
		s.expect(t, r, ok(""))
	}
	s.expect(t, postOrder(`{"petId":3}`), rejected(404, "pet_not_found"))
	s.expect(t, get("/v1/store/orders?petId=3"), ok("").withoutText("placed"))
	s.createPets(t, newPets(1, "")...)
	s.expect(t, get("/v1/pets?sort=-id&limit=2"), ok(`[{"id":4,"name":"Rex","categoryId":7},{"id":2,"name":"Tom","categoryId":7,"status":"sold"}]`))
	s.expect(t, get("/v1/store/inventory"), ok(`{"available":0,"pending":1,"sold":1,"none":1,"total":3}`))
}

func TestBatchAddsAllOrNone(t *testing.T) {
	t.Parallel()
	s := newTestServer(t)
	batch := func(body string, headers ...string) request {
		r := postPet(body, headers...)
		r.path = "/v1/pets/batch"
		return r
	}
	two := `[{"name":"Rex","categoryId":7,"status":"sold"},{"name":"Tom","categoryId":-8,"id":9,"status":null}]`
	want := `[{"id":1,"name":"Rex","categoryId":7,"status":"sold"},{"id":2,"name":"Tom","categoryId":-8}]`
	s.expect(t, batch(two, "Idempotency-Key: a"), created(want).withHeader("-Location", "-Idempotency-Replayed"))
	s.expect(t, batch(two, "Idempotency-Key: a"), created(want).withHeader("Idempotency-Replayed: true"))
	s.expect(t, batch("["+newRex+"]", "Idempotency-Key: a"), rejected(422, "idempotency_key_reused"))
	s.expect(t, postPet(newRex, "Idempotency-Key: a"), rejected(422, "idempotency_key_reused"))
	for body, message := range map[string]string{
		`[]`:                                    "1 to 100",
		"[" + strings.Repeat("{},", 99) + "{}]": "[99].name is required; [99].categoryId is required",
		"[" + strings.Repeat("{},", 20000) + "7]":            "the array must have 1 to 100 animals",
		"[" + strings.Repeat(newRex+",", 100) + newRex + "]": "1 to 100",
		"[" + newRex + `,{"name":"x"},7,{"name":" ","categoryId":7,"status":"gone"}]`: "" +
			"[1].categoryId is required; [2] must be a JSON object; [3].name must be",
		"[" + newRex + `,{"Name":"x","categoryId":7}]`: `[1].name must be spelt name, not "Name"`,
		"[" + newRex + `,{"name":"x","catgoryId":7}]`:  `[1].categoryId must be spelt categoryId, not "catgoryId"`,
	} {
		s.expect(t, batch(body), rejected(400, "validation_failed", message))
	}
	for _, body := range []string{``, `null`, newRex, `[` + newRex, `[` + newRex + `][]`, `[{"name":"x","name":"x","categoryId":7}]`} {
		s.expect(t, batch(body), rejected(400, "invalid_json"))
	}
	s.expect(t, get("/v1/pets"), ok(want))
	s.expect(t, batch("["+strings.Repeat(newRex+",", 99)+newRex+"]"), created(""))
	s.expect(t, get("/v1/store/inventory"), ok(`{"available":0,"pending":0,"sold":1,"none":101,"total":102}`))
}
