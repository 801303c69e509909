package http_test

import (
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"math"
	"net/http"
	"net/url"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/go-json-experiment/json/jsontext"
	gocmp "github.com/google/go-cmp/cmp"

	"example.com/petstore/delivery/internal/binding"
	"example.com/petstore/delivery/internal/record"
	"example.com/petstore/domain"
	"example.com/petstore/domain/port"
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
		`"\u200b"`, `"\ufeff"`, `"\u00ad \u3164\udb40\udc01"`, `"\u200bx"`, `"\ufffb"`, "\"\U000e0001\"",
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

// FuzzUpdatePet corrects an animal with any body. The animal in the response and in the store, or the code and the rules in the
// error, are those of a second implementation of the documented rules.
func FuzzUpdatePet(f *testing.F) {
	s := newFuzzServer(f)
	for _, seed := range append(petSeeds(), `{"name":"Tom"}`, `{"categoryId":8}`, `{"status":null}`, `{"status":null,"name":null}`, `{"statu\u0073":"sold"}`) {
		f.Add([]byte(seed))
	}
	before := domain.NewPet{Name: "Before", CategoryID: 1, Status: domain.PetAvailable}
	f.Fuzz(func(t *testing.T, body []byte) {
		created, _, err := s.store.CreatePets(t.Context(), []domain.NewPet{before}, port.Claim{})
		check(t, err)
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

// visible matches a text with a character that is neither white space nor default-ignorable, as perl lists them.
var visible = regexp.MustCompile(`[^\s\p{Z}\x{85}\x{AD}\x{34F}\x{61C}\x{115F}\x{1160}\x{17B4}\x{17B5}\x{180B}-\x{180F}\x{200B}-\x{200F}` +
	`\x{202A}-\x{202E}\x{2060}-\x{206F}\x{3164}\x{FE00}-\x{FE0F}\x{FEFF}\x{FFA0}\x{FFF0}-\x{FFF8}\x{1BCA0}-\x{1BCA3}\x{1D173}-\x{1D17A}\x{E0000}-\x{E0FFF}]`)

// parsePet is a second implementation of the documented rules, with encoding/json: of a new animal, or of a correction of one. It
// returns the code of the error, and the rules that a body breaks.
func parsePet(body []byte, corrected *domain.NewPet) (pet domain.NewPet, code string, rules []string) {
	if corrected != nil {
		pet = *corrected
	}
	var members map[string]json.RawMessage
	switch {
	case len(body) > 64<<10:
		return pet, "body_too_large", nil
	case json.Unmarshal(body, &members) != nil, members == nil, !isIJSON(body):
		return pet, "invalid_json", nil
	}
	names := memberNames(body)
	// decode returns whether a member is present, has the right type, and occurs in no other spelling.
	decode := func(name, typeRule string, required bool, decode func(text []byte) error) bool {
		member, present := members[name]
		other := slices.IndexFunc(names, func(n string) bool { return n != name && regexp.MustCompile("(?i)^"+name+"$").MatchString(n) })
		rule := ""
		switch {
		case string(member) == "null" && (name != "status" || corrected == nil):
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

// memberNames returns the names of a JSON object in their order.
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

// isIJSON reports whether a text is JSON in which no object has a duplicate name (which jsontext checks,
// as it does UTF-8 and surrogates), and no text a noncharacter.
func isIJSON(text []byte) bool {
	for decoder := jsontext.NewDecoder(bytes.NewReader(text)); ; {
		token, err := decoder.ReadToken()
		switch {
		case err != nil:
			return errors.Is(err, io.EOF)
		case token.Kind() == '"' && strings.ContainsFunc(token.String(), func(r rune) bool { return r&0xfffe == 0xfffe || 0xfdd0 <= r && r <= 0xfdef }):
			return false
		}
	}
}

// usecase shows the rules of orders.
func TestOrderIsPlacedAndEnded(t *testing.T) {
	t.Parallel()
	s := newTestServer(t)
	s.createPets(t, newPets(2, "available")...)
	const order = `{"id":%d,"petId":%[1]d,"status":%q,"createdAt":"2026-11-20T12:00:00.000Z","updatedAt":%q}`
	for i, want := range []struct{ action, status string }{{"deliver", "delivered"}, {"cancel", "cancelled"}} {
		s.clock.set(noon)
		id, path := i+1, fmt.Sprintf("/v1/store/orders/%d", i+1)
		placed := fmt.Sprintf(order, id, "placed", "2026-11-20T12:00:00.000Z")
		place := postOrder(fmt.Sprintf(`{"petId":%d}`, id), "Idempotency-Key: "+want.action)
		s.expect(t, place, created(placed).withHeader(fmt.Sprintf("Location: ./orders/%d", id), notReplayed))
		s.expect(t, get(path), ok(placed))
		s.clock.advance(time.Hour + 7*time.Millisecond)
		ended := fmt.Sprintf(order, id, want.status, "2026-11-20T13:00:00.007Z")
		s.expect(t, newRequest(http.MethodPost, path+"/"+want.action), ok(ended))
		s.expect(t, get(fmt.Sprintf("/v1/store/orders?petId=%d", id)), ok(`[`+ended+`]`))
		s.expect(t, place, created(placed).withHeader(fmt.Sprintf("Location: ./orders/%d", id), replayed))
	}
	s.expect(t, newRequest(http.MethodPost, "/v1/store/orders/1/cancel"), rejected(409, "order_state_conflict"))
	s.expect(t, postOrder(`{"petId":1}`), rejected(409, "pet_not_available", "1"))
	for _, r := range []request{postOrder(`{"petId":2}`, "Idempotency-Key: deliver"), postPet(newRex, "Idempotency-Key: deliver")} {
		s.expect(t, r, rejected(422, "idempotency_key_reused"))
	}
	// FuzzCreatePet has more.
	for _, body := range []string{`{}`, `{"petID":1}`, `{"petId":null}`, `{"petId":"1"}`, `{"petId":1.0}`, `{"petId":9223372036854775808}`} {
		s.expect(t, postOrder(body), rejected(400, "validation_failed", "petId"))
	}
	s.expect(t, postOrder(`{"petId":1`), rejected(400, "invalid_json"))
	s.expect(t, postOrder(`{"petId":1}`, "-Content-Type"), rejected(415, "unsupported_media_type"))
	s.expect(t, postOrder(`{"petId":1}`, `Idempotency-Key: ""`), rejected(400, "invalid_idempotency_key"))
	s.expect(t, postOrder(`{"petId":-9223372036854775808}`, "Idempotency-Key: unused"), rejected(404, "pet_not_found"))
	s.expect(t, postPet(newRex, "Idempotency-Key: unused"), created("").withHeader(notReplayed))
}

// link returns the target of the header Link with this relation, resolved against the URL
// of the request, or "" if there is none.
func (res response) link(t *testing.T, relation string) string {
	t.Helper()
	found := regexp.MustCompile(`^<([^<>]*)>; rel="` + relation + `"$`).FindStringSubmatch(res.Header.Get("Link"))
	if found == nil {
		return ""
	}
	target, err := url.Parse(found[1])
	check(t, err)
	return res.Request.URL.ResolveReference(target).RequestURI()
}

func TestUnchangedPageIsNotModified(t *testing.T) {
	t.Parallel()
	s := newTestServer(t)
	s.createPets(t, domain.NewPet{Name: "Rex"}, domain.NewPet{Name: "Tom"})
	page := s.expect(t, get("/v1/pets?limit=2"), ok(""))
	etag := page.Header.Get("ETag")
	for _, header := range []string{etag, "W/" + etag, `"x", ` + etag + `,"y"`, "*"} {
		s.expect(t, get("/v1/pets?limit=2", "If-None-Match: "+header), wantResponse{status: http.StatusNotModified}.withHeader("ETag: "+etag))
	}
	for _, other := range []string{`"x"`, `"x,*,y"`} {
		s.expect(t, get("/v1/pets?limit=2", "If-None-Match: "+other), ok(string(page.body)))
	}

	// The same body with a next link is another representation.
	s.createPets(t, domain.NewPet{Name: "Kit"})
	s.expect(t, get("/v1/pets?limit=2", "If-None-Match: "+etag), ok("").withHeader(`Link: <?limit=2&after=2>; rel="next"`))
}

func TestPageIsReadAgainOnlyAfterItChanges(t *testing.T) {
	t.Parallel()
	s := newTestServer(t)
	wantReads := func(hits, reads int) {
		t.Helper()
		for result, want := range map[string]int{"hit": hits, "miss": reads} {
			if got := s.scrape(t)[`petstore_http_page_cache_requests_total{result="`+result+`"}`]; got != fmt.Sprint(want) {
				t.Errorf("got %s of result %s, want %d", got, result, want)
			}
		}
	}
	s.expect(t, get("/v1/pets"), ok(`[]`))
	s.createPets(t, domain.NewPet{Name: "1", Status: domain.PetSold})
	for range 3 { // a rejected order changes nothing
		s.expect(t, get("/v1/pets"), ok(`[{"id":1,"name":"1","categoryId":0,"status":"sold"}]`))
		s.expect(t, postOrder(`{"petId":1}`), rejected(409, "pet_not_available"))
		s.expect(t, postOrder(`{"petId":9}`), rejected(404, "pet_not_found"))
	}
	wantReads(2, 2)
	s.createPets(t, domain.NewPet{Name: "2"}) // on this page, which is the last one
	s.expect(t, get("/v1/pets"), ok(`[{"id":1,"name":"1","categoryId":0,"status":"sold"},{"id":2,"name":"2","categoryId":0}]`))
	page := s.expect(t, get("/v1/pets?limit=1"), ok(""))
	s.createPets(t, domain.NewPet{Name: "3"}) // after this page, which has a next one
	for _, path := range []string{"/v1/pets?limit=1", "/v1/pets?limit=01&after=0", "/v1/pets?%6Cimit=1"} {
		s.expect(t, get(path), ok(string(page.body)))
	}
	wantReads(5, 4)
	s.expect(t, get("/v1/store/orders"), ok(`[]`))
	s.expect(t, get("/v1/pets?limit=1&after=1"), ok(`[{"id":2,"name":"2","categoryId":0}]`))
	s.expect(t, get("/v1/pets?status=pending&categoryId=0"), ok(`[]`))
	s.expect(t, postOrder(`{"petId":2}`), created("")) // changes these pages, of which the first has a next one
	s.expect(t, get("/v1/pets?limit=1&after=1"), ok(`[{"id":2,"name":"2","categoryId":0,"status":"pending"}]`))
	s.expect(t, get("/v1/pets?status=pending&categoryId=0"), ok(`[{"id":2,"name":"2","categoryId":0,"status":"pending"}]`))
	s.expect(t, get("/v1/pets?categoryId=-9223372036854775808"), ok(`[]`))
	if orders := s.expect(t, get("/v1/store/orders"), ok("")); len(orders.body) < 10 {
		t.Errorf("got the orders %s, want one", orders.body)
	}
}

func TestUnknownParameterIsRejected(t *testing.T) {
	t.Parallel()
	s := newTestServer(t)
	for _, r := range documentedOperations() {
		path := r.path
		r.body = `{"name":"Rex","categoryId":7,"petId":1}`
		if strings.HasSuffix(path, "/batch") {
			r.body = "[" + r.body + "]"
		}
		for query, message := range map[string]string{
			"x":        `"x" is not a parameter of this operation`,
			"=":        `"" is not a parameter of this operation`,
			"%0A%ff=1": `"\n\xff" is not a parameter of this operation`,
			"%zz":      "the query string is malformed",
			s.key:      "the query has a parameter that this operation does not have",
		} {
			r.path = path + "?" + query
			s.expect(t, r, rejected(400, "invalid_parameter", message))
		}
	}
	for query, want := range map[string]string{
		"statuss=sold": `"statuss" is not a parameter of this operation: did you mean status?`,
		"categoryID=7": `"categoryID" is not a parameter of this operation: did you mean categoryId?`,
		"LIMIT=1&page=2&after=-1": `"LIMIT" is not a parameter of this operation: did you mean limit?; ` +
			`"page" is not a parameter of this operation; after must be at least 0`,
	} {
		s.expect(t, get("/v1/pets?"+query), rejected(400, "invalid_parameter", want))
	}
	many := s.expect(t, get("/v1/pets?"+strings.Repeat("x", 9)+strings.Join(strings.Split("abcdefghijklmnop", ""), "&")), rejected(400, "invalid_parameter"))
	if got := strings.Count(string(many.body), " is not "); got != 10 {
		t.Errorf("got %d of 16 unknown parameters in %s, want 10", got, many.body)
	}
}

// A listed record is a pet or an order of a list.
type listed struct {
	ID, PetID, CategoryID int64
	Status                string
}

// FuzzQuery sends any query to both lists. The page and its link, or the code of the error, are those of
// a second implementation of the documented parameters.
func FuzzQuery(f *testing.F) {
	s := newFuzzServer(f)
	pets, orders := make([]listed, 110), make([]listed, 110)
	for i := range pets {
		id := int64(i + 1)
		pets[i] = listed{ID: id, CategoryID: []int64{7, -1}[i%2], Status: []string{"", "available", "sold"}[i%3]}
		orders[i] = listed{ID: id, PetID: []int64{id, id, 2}[i%3], Status: []string{"placed", "delivered", "cancelled"}[i%3]}
		s.createPets(f, domain.NewPet{Name: "Rex", CategoryID: pets[i].CategoryID, Status: domain.PetStatus(pets[i].Status)})
		s.database.Exec(f, `INSERT INTO orders (pet_id, status, created_at, updated_at) VALUES ($1, $2, $3, $3)`, orders[i].PetID, orders[i].Status, noon.UnixMilli())
	}
	for _, seed := range querySeeds {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, query string) {
		s.checkList(t, "/v1/pets", query, pets, petStatus, "categoryId")
		s.checkList(t, "/v1/store/orders", query, orders, orderStatus, "petId")
	})
}

var querySeeds = []string{
	"", "&", "&&", "offset=5&page=2&x&=y&sort=-id", "x=&x=", "limit=3&x=%3E%22&page=2", "Limit=0&LIMIT=x", // unknown parameters
	"limit=1", "limit=2", "limit=20", "limit=99", "limit=100", "limit=007", "l%69mit=3", "limit=100&after=1", "limit=3&after=3", "limit=3&after=107",
	"limit=0", "limit=101", "limit=-1", "limit=-0", "limit=1000000", "limit=2147483648", "limit=4294967297", "limit=9223372036854775808",
	"limit=99999999999999999999999", "limit=", "limit", "limit=+", "limit=+5", "limit=%2B5", "limit=5.0", "limit=5.", "limit=5e0", "limit=0x10",
	"limit=1_0", "limit=five", "limit=%205", "limit=5%20", "limit=5,6", "limit=٥", "limit=5%00", "limit=[5]", "limit=5&limit=5", "limit=5&limit=",
	"limit=5&l%69mit=6", "l%69mit=0", "after=0", "after=1", "after=5", "after=110", "after=9223372036854775807",
	"after=", "after=-1", "after=-0", "after=-00", "after=9223372036854775808", "after=-9223372036854775809", "after=--1", "after=x", "after=1&after=2",
	"status=sold", "status=available&limit=3&after=7", "status=pending", "status=%73old", "status=placed", "status=cancelled&limit=1", "status=delivered",
	"status=", "status", "status=gone", "status=Sold", "status=Placed", "status=sold%20", "status=sold,pending", "status=sold&status=sold",
	"status=sold&status=pending", "status=placed&status=placed", "status='", "status=%ff", "petId=1", "petId=2", "petId=0", "petId=4711",
	"petId=1&limit=1", "petId=2&status=cancelled&limit=1", "petId=", "petId=x", "petId=%2B1", "petId=-1", "petId=-0", "petId=1.0",
	"categoryId=7", "categoryId=-1&limit=3", "categoryId=-01&limit=3", "categoryId=-1&status=sold&limit=1", "categoryId=0", "categoryId=-0", "categoryId=", "categoryId=x",
	"status=sold,available", "status=available,sold,none&limit=3", "status=none", "status=none,none", "status=,sold", "status=sold,", "status=sold,gone",
	"status=placed,cancelled", "status=cancelled,placed&limit=2&after=4", "status=delivered,delivered", "status=sold,none&categoryId=7&limit=2",
	"id=3,7,12", "id=12,3,7&sort=-id", "id=1", "id=111", "id=1,111,9223372036854775807", "id=0", "id=-1", "id=1,1", "id=1,01", "id=", "id=1,,2", "id=x", "id=1&id=2",
	"id=+1", "id=%2B1", "id=9223372036854775808", "id=3,4,5&status=sold,none", "id=3,4,5&categoryId=7", "id=3,4,5&after=3", "id=3,4,5&limit=1", "id=3,4&limit=0",
	"id=" + joinedIDs(100), "id=" + joinedIDs(101),
	"sort=id", "sort=-id", "sort=-id&after=50&limit=4", "sort=-id&after=1", "sort=-id&status=sold&limit=3", "sort=-id&status=sold,none&categoryId=-1&limit=3&after=90",
	"sort=", "sort=name", "sort=id&sort=-id", "sort=ID", "sort=%2Did", "sort=-id&petId=2&limit=5", "sort=-id&status=placed,cancelled&petId=2&limit=5",
	"categoryId=-9223372036854775808", "categoryId=-9223372036854775809", "categoryId=7&categoryId=7", "categoryId=7&petId=x",
	"petId=9223372036854775808", "petId=1&petId=1", "limit=0&status=gone&after=x", // several
	"status=%", "status=%4", "limit=%zz", "x=%zz", "%zz=1", "x=%", "a;b", "limit=5;status=sold", "x=a;b", "%00=1", "\xff", // malformed
}

// joinedIDs returns the numbers from 1 to n.
func joinedIDs(n int) string {
	var ids []string
	for i := range n {
		ids = append(ids, strconv.Itoa(i+1))
	}
	return strings.Join(ids, ",")
}

// checkList checks the response to a query.
func (s *testServer) checkList(t *testing.T, path, query string, all []listed, statuses *regexp.Regexp, reference string) {
	t.Helper()
	w := s.roundTrip(t, http.MethodGet, path, query, "", http.Header{})
	values, err := url.ParseQuery(query)
	if err != nil {
		wantError(t, w, "invalid_parameter", nil)
		return
	}
	var invalid []string
	number := func(name string, smallest, largest, missing int64) int64 {
		texts, given := values[name]
		if !given {
			return missing
		}
		n, err := strconv.ParseInt(texts[0], 10, 64)
		if len(texts) > 1 || !regexp.MustCompile(`^-?[0-9]+$`).MatchString(texts[0]) || n == 0 && texts[0][0] == '-' || err != nil || n < smallest || n > largest {
			invalid = append(invalid, name)
		}
		return n
	}
	limit, after := number("limit", 1, 100, 20), number("after", 0, math.MaxInt64, 0)
	for name := range maps.Keys(values) {
		if known := []string{"limit", "after", "sort", "status", reference}; !slices.Contains(known, name) && (name != "id" || reference != "categoryId") {
			invalid = append(invalid, strconv.Quote(name)+" is not a parameter of this operation")
		}
	}
	filters := ""
	// list returns the elements of a parameter, in the order of a link.
	list := func(name string, valid func(string) bool, key func(string) string, compare func(a, b string) int) (elements []string) {
		texts, given := values[name]
		if !given {
			return nil
		}
		for text := range strings.SplitSeq(texts[0], ",") {
			if !valid(text) {
				invalid = append(invalid, name)
				return nil
			}
			elements = append(elements, key(text))
		}
		slices.SortFunc(elements, compare)
		if len(texts) > 1 || len(elements) > 100 || len(slices.Compact(slices.Clone(elements))) < len(elements) {
			invalid = append(invalid, name)
		}
		return elements
	}
	same := func(text string) string { return text }
	wanted := list("status", statuses.MatchString, same, strings.Compare)
	if wanted != nil {
		filters = "&status=" + strings.Join(wanted, ",")
	}
	smallest := map[string]int64{"petId": 0, "categoryId": math.MinInt64}[reference]
	id := number(reference, smallest, math.MaxInt64, 0)
	if values.Has(reference) {
		filters += "&" + reference + "=" + strconv.FormatInt(id, 10)
	}
	var ids []string
	if reference == "categoryId" {
		isID := func(text string) bool {
			n, err := strconv.ParseInt(text, 10, 64)
			return err == nil && n > 0 && text[0] != '+'
		}
		ids = list("id", isID, func(text string) string { return strings.TrimLeft(text, "0") }, strings.Compare)
	}
	newest := values.Get("sort") == "-id"
	if texts := values["sort"]; len(texts) > 1 || len(texts) == 1 && !newest && texts[0] != "id" {
		invalid = append(invalid, "sort")
	}
	if newest {
		filters += "&sort=-id"
	}
	if invalid != nil {
		wantError(t, w, "invalid_parameter", invalid)
		return
	}
	want := slices.DeleteFunc(slices.Clone(all), func(r listed) bool {
		behind := r.ID <= after
		if newest {
			behind = after > 0 && r.ID >= after
		}
		return ids == nil && behind ||
			wanted != nil && !slices.Contains(wanted, cmp.Or(r.Status, "none")) ||
			ids != nil && !slices.Contains(ids, strconv.FormatInt(r.ID, 10)) ||
			values.Has(reference) && map[string]int64{"petId": r.PetID, "categoryId": r.CategoryID}[reference] != id
	})
	if newest {
		slices.Reverse(want)
	}
	link := ""
	if len(want) > int(limit) && ids == nil {
		want = want[:limit]
		link = fmt.Sprintf(`<?limit=%d%s&after=%d>; rel="next"`, limit, filters, want[limit-1].ID)
	}
	var got []listed
	if err := json.Unmarshal(w.Body.Bytes(), &got); w.Code != http.StatusOK || err != nil {
		t.Fatalf("%q: got %d %s, want a page", query, w.Code, w.Body)
	}
	if diff := gocmp.Diff(want, got); diff != "" || w.Header().Get("Link") != link {
		t.Fatalf("%s?%q: got Link %q, want %q; page (-want +got):\n%s", path, query, w.Header().Get("Link"), link, diff)
	}
}

var (
	petStatus   = regexp.MustCompile(`^(available|pending|sold|none)$`)
	orderStatus = regexp.MustCompile(`^(placed|delivered|cancelled)$`)
)

func TestInvalidOrUnknownIDIsNotFound(t *testing.T) {
	t.Parallel()
	s := newTestServer(t)
	s.createPets(t, newPets(10, "")...)
	for _, id := range []string{ // FuzzQuery has more numbers
		"0", "-1", "11", "9223372036854775807", "-9223372036854775808", "9223372036854775808", "%2B1", "1.0", "one", "1%20", "1%00", "1;x", "1,2", "١", "*",
		"1%27%20OR%201=1",
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
	s.expect(t, patched(`{}`, "Content-Type: text/plain"), rejected(415, "unsupported_media_type", "application/json or application/merge-patch+json"))
	s.expect(t, patched(tooLarge), rejected(413, "body_too_large"))
	s.expect(t, postPet(newRex, merge), rejected(415, "unsupported_media_type"))
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
	for _, condition := range []string{first, "W/" + second, `"x"`, first + ", W/" + second, second[1 : len(second)-1], ""} {
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
		order  string
		status int
	}{{"", 409}, {"/deliver", 409}, {"/cancel", 204}} {
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
		s.expect(t, newRequest("DELETE", path), rejected(409, "pet_ordered"))
		r := patched(`{"status":"available","name":"Tom"}`)
		r.path = path
		s.expect(t, r, rejected(409, "pet_ordered"))
		r.body = `{"name":"Tom"}`
		s.expect(t, r, ok(""))
	}
	s.expect(t, postOrder(`{"petId":3}`), rejected(404, "pet_not_found"))
	s.expect(t, get("/v1/store/orders?petId=3"), ok("").withoutText("placed"))
	s.createPets(t, newPets(1, "")...)
	s.expect(t, get("/v1/pets?sort=-id&limit=2"), ok(`[{"id":4,"name":"Rex","categoryId":7},{"id":2,"name":"Tom","categoryId":7,"status":"sold"}]`))
	s.expect(t, get("/v1/store/inventory"), ok(`{"available":0,"pending":1,"sold":1,"none":1,"total":3}`))
}

func TestPagesByNewestAreFresh(t *testing.T) {
	t.Parallel()
	s := newTestServer(t)
	const newest, below, chosen = "/v1/pets?sort=-id&limit=1", "/v1/pets?sort=-id&limit=1&after=2", "/v1/pets?id=1,3&limit=1"
	const belowAnother = "/v1/pets?sort=-id&limit=1&after=9" // which does not exist yet
	for id := range 4 {
		s.createPets(t, domain.NewPet{Name: strconv.Itoa(id + 1)})
		s.expect(t, get(newest), ok(fmt.Sprintf(`[{"id":%d,"name":"%[1]d","categoryId":0}]`, id+1)))
		s.expect(t, get(belowAnother), ok(fmt.Sprintf(`[{"id":%d,"name":"%[1]d","categoryId":0}]`, id+1)))
		s.expect(t, get(below), ok(`[{"id":1,"name":"1","categoryId":0}]`))
		want := `[{"id":1,"name":"1","categoryId":0}]`
		if id >= 2 {
			want = `[{"id":1,"name":"1","categoryId":0},{"id":3,"name":"3","categoryId":0}]`
		}
		s.expect(t, get(chosen), ok(want).withHeader("-Link"))
		s.expect(t, get("/v1/store/inventory"), ok(fmt.Sprintf(`{"available":0,"pending":0,"sold":0,"none":%d,"total":%[1]d}`, id+1)))
	}
	s.expect(t, newRequest("DELETE", "/v1/pets/4"), wantResponse{status: 204})
	s.expect(t, get(newest), ok(`[{"id":3,"name":"3","categoryId":0}]`))
	s.expect(t, newRequest("DELETE", "/v1/pets/1"), wantResponse{status: 204})
	s.expect(t, get(below), ok(`[]`))
	s.expect(t, get(chosen), ok(`[{"id":3,"name":"3","categoryId":0}]`))
}

func TestSpellingsOfAQueryAreOneCachedPage(t *testing.T) {
	t.Parallel()
	s := newTestServer(t)
	s.createPets(t, newPets(3, "sold")...)
	reads := func() string { return s.scrape(t)[`petstore_http_page_cache_requests_total{result="miss"}`] }
	for _, spellings := range [][]string{
		{"status=sold,none&sort=-id", "sort=-id&status=none,sold", "limit=20&status=none,sold&sort=-id&after=0"},
		{"id=1,3&sort=id", "id=3,1", "id=03,01&limit=20"},
	} {
		for i, query := range spellings {
			before := reads()
			s.expect(t, get("/v1/pets?"+query), ok(""))
			if changed := reads() != before; changed != (i == 0) {
				t.Errorf("%s: got a read: %t", query, changed)
			}
		}
	}
	s.expect(t, get("/v1/store/inventory?categoryId=7"), ok(`{"available":0,"pending":0,"sold":3,"none":0,"total":3}`))
	s.expect(t, get("/v1/store/inventory?categoryId=8"), ok(`{"available":0,"pending":0,"sold":0,"none":0,"total":0}`))
	s.expect(t, get("/v1/store/inventory?status=sold"), rejected(400, "invalid_parameter"))
}

func TestBatchAddsAllOrNone(t *testing.T) {
	t.Parallel()
	s := newTestServer(t)
	batch := func(body string, headers ...string) request {
		r := postPet(body, headers...)
		r.path = "/v1/pets/batch"
		return r
	}
	two := `[{"name":"Rex","categoryId":7,"status":"sold"},{"name":"Tom","categoryId":-8,"id":9}]`
	want := `[{"id":1,"name":"Rex","categoryId":7,"status":"sold"},{"id":2,"name":"Tom","categoryId":-8}]`
	s.expect(t, batch(two, "Idempotency-Key: a"), created(want).withHeader("-Location", "-Idempotency-Replayed"))
	s.expect(t, batch(two, "Idempotency-Key: a"), created(want).withHeader("Idempotency-Replayed: true"))
	s.expect(t, batch("["+newRex+"]", "Idempotency-Key: a"), rejected(422, "idempotency_key_reused"))
	s.expect(t, postPet(newRex, "Idempotency-Key: a"), rejected(422, "idempotency_key_reused"))
	for body, message := range map[string]string{
		`[]`: "1 to 100",
		"[" + strings.Repeat(newRex+",", 100) + newRex + "]":                          "1 to 100",
		"[" + newRex + `,{"name":"x"},7,{"name":" ","categoryId":7,"status":"gone"}]`: "[1].categoryId is required; [2] must be a JSON object; [3].name must be",
		"[" + newRex + `,{"Name":"x","categoryId":7}]`:                                `[1].name must be spelt name, not "Name"`,
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
