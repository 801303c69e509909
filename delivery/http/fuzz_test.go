package http_test

import (
	"bytes"
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"net/url"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/gin-gonic/gin"
	"github.com/google/go-cmp/cmp"
	"go.uber.org/zap"
	"go.uber.org/zap/zapcore"

	rest "example.com/petstore/delivery/http"
	"example.com/petstore/domain"
)

// A fuzzServer calls the handler without a network.
type fuzzServer struct {
	*testServer
	handler *gin.Engine
}

func newFuzzServer(f *testing.F) fuzzServer {
	f.Helper()
	s := newUnstartedServer(f)
	return fuzzServer{s, s.engine(f, nil)}
}

// roundTrip serves a request to /v1/pets, also one that net/http would not send. It fails
// the test for a status of 500 or more.
func (f fuzzServer) roundTrip(t *testing.T, method, query, body string, header http.Header) *httptest.ResponseRecorder {
	t.Helper()
	header.Set("Authorization", "Bearer "+f.key)
	header.Set("Content-Type", "application/json")
	w := httptest.NewRecorder()
	f.handler.ServeHTTP(w, &http.Request{
		Method: method, URL: &url.URL{Path: "/v1/pets", RawQuery: query}, Header: header,
		Body: io.NopCloser(strings.NewReader(body)), RemoteAddr: "127.0.0.1:1",
	})
	if w.Code >= http.StatusInternalServerError {
		t.Fatalf("got status %d: %s\n%v", w.Code, w.Body, f.log.TakeAll())
	}
	f.log.TakeAll() // bound the memory
	return w
}

var bodySeeds = []string{
	``, ` `, `null`, `[]`, `{}`, `"x"`, `7`, `{`, `{"name":"Rex"`, `{}{}`, `{} x`,
	`{"name":"Rex","categoryId":7}`, `{"name":"Rex","categoryId":7,"status":"available"}`,
	`{"categoryId":-9223372036854775808,"name":"x","status":"sold","id":9}`, `{"name":"x","categoryId":9223372036854775807,"status":"pending"}`,
	`{"name":"x","categoryId":9223372036854775808}`, `{"name":"x","categoryId":7.0}`, `{"name":"x","categoryId":7e1}`, `{"name":"x","categoryId":-0}`,
	`{"name":"x","categoryId":07}`, `{"name":"x","categoryId":"7"}`, `{"name":null,"categoryId":null,"status":null}`,
	`{"name":"x","name":"y","categoryId":7}`, `{"n\u0061me":"x","name":"y","categoryId":7}`, `{"Name":"x","categoryid":7,"ſtatus":"sold"}`,
	`{"name":"x","categoryId":7,"Status":"gone"}`, `{"name":"\ud83d\udc36","categoryId":7}`, `{"name":"\ud800","categoryId":7}`,
	`{"name":"\udc36\ud83d","categoryId":7}`, `{"name":"\u0000","categoryId":7}`, `{"name":"\u0085","categoryId":7}`, `{"name":"\u2028","categoryId":7}`,
	`{"name":" \u00a0\u3000","categoryId":7}`, `{"name":"\ufeff\u200b","categoryId":7}`, `{"name":"\"\\\/\b\f\n\r\t","categoryId":7}`,
	"{\"name\":\"\xff\",\"categoryId\":7}", "{\"name\":\"\xed\xa0\x80\",\"categoryId\":7}", "\ufeff{\"name\":\"x\",\"categoryId\":7}",
	"{\"name\":\"x\",\"categoryId\":7,\"\xff\":1}", `{"name":"x","categoryId":7,"x":{"a":[1,{"b":null}],"c":1e400}}`, `{"name":"x","categoryId":7,"x":{"a":1,"a":2}}`,
	`{"name":"<b>&amp;</b>","categoryId":7}`, `{"name":"x","categoryId":7,"status":""}`, `{"name":"x","categoryId":7,"":""}`,
	`{"name":"` + strings.Repeat("é", 200) + `","categoryId":7}`, `{"name":"` + strings.Repeat("é", 201) + `","categoryId":7}`,
	`{"name":"x","categoryId":7,"x":` + strings.Repeat("[", 500) + strings.Repeat("]", 500) + `}`,
}

func FuzzBody(f *testing.F) {
	s := newFuzzServer(f)
	for _, seed := range bodySeeds {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, body []byte) {
		want, valid, certain := parseNewPet(body)
		w := s.roundTrip(t, http.MethodPost, "", string(body), http.Header{})
		switch {
		case w.Code == http.StatusCreated && !valid:
			t.Fatalf("%q: got pet %s, want an error", body, w.Body)
		case w.Code != http.StatusCreated && valid && certain:
			t.Fatalf("%q: got %d %s, want 201", body, w.Code, w.Body)
		case w.Code != http.StatusCreated:
			if w.Code != http.StatusBadRequest && w.Code != http.StatusRequestEntityTooLarge {
				t.Fatalf("%q: got %d %s, want 400 or 413", body, w.Code, w.Body)
			}
			return
		}
		var got struct {
			ID         int64             `json:"id"`
			Name       string            `json:"name"`
			CategoryID int64             `json:"categoryId"`
			Status     *domain.PetStatus `json:"status"`
		}
		if err := json.Unmarshal(w.Body.Bytes(), &got); err != nil {
			t.Fatal(err)
		}
		stored, err := s.store.Pets().Get(t.Context(), got.ID)
		if err != nil {
			t.Fatal(err)
		}
		created := domain.NewPet{Name: got.Name, CategoryID: got.CategoryID}
		if got.Status != nil {
			created.Status = *got.Status
		}
		inStore := domain.NewPet{Name: stored.Name, CategoryID: stored.CategoryID, Status: stored.Status}
		if created != want || inStore != want || (got.Status != nil) != (want.Status != "") {
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

// parseNewPet is a second implementation of the documented rules, with encoding/json. It
// is not certain for deeply nested bodies.
func parseNewPet(body []byte) (pet domain.NewPet, valid, certain bool) {
	certain = bytes.Count(body, []byte("["))+bytes.Count(body, []byte("{")) < 1000
	if slices.ContainsFunc(escape.FindAll(body, -1), loneSurrogate.Match) {
		return pet, false, certain
	}
	var members map[string]json.RawMessage
	if len(body) > 64<<10 || !utf8.Valid(body) || json.Unmarshal(body, &members) != nil || members == nil || !uniqueNames(body) {
		return pet, false, certain
	}
	if members["name"] == nil || members["categoryId"] == nil {
		return pet, false, certain
	}
	var name, status *string
	if json.Unmarshal(members["name"], &name) != nil || name == nil {
		return pet, false, certain
	}
	if members["status"] != nil && (json.Unmarshal(members["status"], &status) != nil || status == nil) {
		return pet, false, certain
	}
	category, err := strconv.ParseInt(string(members["categoryId"]), 10, 64)
	if err != nil {
		return pet, false, certain
	}
	pet = domain.NewPet{Name: *name, CategoryID: category}
	if status != nil {
		pet.Status = domain.PetStatus(*status)
	}
	validName := regexp.MustCompile(`^\P{Cc}{1,200}$`).MatchString(*name) && regexp.MustCompile(`[^\s\p{Z}\x{85}]`).MatchString(*name)
	validStatus := status == nil || *status == "available" || *status == "pending" || *status == "sold"
	return pet, validName && validStatus, certain
}

// uniqueNames reports whether no object in valid JSON has a duplicate name.
func uniqueNames(text []byte) bool {
	decoder := json.NewDecoder(bytes.NewReader(text))
	decoder.UseNumber()        // some exceed float64
	var seen []map[string]bool // of the enclosing objects, nil for an array
	var isName []bool
	for {
		token, err := decoder.Token()
		if err != nil {
			return err == io.EOF
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

var keySeeds = []string{
	"", "a", "one", `"one"`, `""`, `"`, `"a`, `a"`, `a"b`, `"a"b"`, `"a\"b"`, `"a\\b"`, `"a\b"`, `"a\"`, `a\b`, "a b", `"a b"`, "a\tb", "a\x00", "\x7f", "~", "!", "ä", "\xff",
	"8e03978e-40d5-43dd-bc93-6894a57f9324", `"8e03978e-40d5-43dd-bc93-6894a57f9324"`, `"a";p=1`, `"a", "b"`,
	strings.Repeat("x", 255), strings.Repeat("x", 256), `"` + strings.Repeat("x", 255) + `"`, `"` + strings.Repeat(`\"`, 255) + `"`, `"` + strings.Repeat(`\"`, 256) + `"`,
}

func FuzzIdempotencyKey(f *testing.F) {
	s := newFuzzServer(f)
	for _, seed := range keySeeds {
		f.Add(seed)
	}
	responses := map[string]string{} // by key
	f.Fuzz(func(t *testing.T, header string) {
		key, valid := parseIdempotencyKey(header)
		w := s.roundTrip(t, http.MethodPost, "", newRex, http.Header{"Idempotency-Key": {header}})
		replayed := w.Header().Get("Idempotency-Replayed") == "true"
		switch first, repeated := responses[key]; {
		case !valid && w.Code != http.StatusBadRequest, valid && w.Code != http.StatusCreated:
			t.Fatalf("%q (valid: %t): got %d %s", header, valid, w.Code, w.Body)
		case !valid:
			return
		case replayed != repeated, repeated && w.Body.String() != first:
			t.Fatalf("%q: got %s, replayed %t, want replayed %t of %q", header, w.Body, replayed, repeated, first)
		}
		responses[key] = w.Body.String()
		other := s.roundTrip(t, http.MethodPost, "", `{"name":"Tom","categoryId":8}`, http.Header{"Idempotency-Key": {header}})
		if other.Code != http.StatusUnprocessableEntity {
			t.Fatalf("%q with another body: got %d %s, want 422", header, other.Code, other.Body)
		}
	})
}

var quotedKey = regexp.MustCompile(`^"(?:[ !#-\[\]-~]|\\["\\])*"$`)

// parseIdempotencyKey returns the key in a header value, a String of RFC 9651, section
// 3.3.3, when it is quoted.
func parseIdempotencyKey(header string) (key string, valid bool) {
	if key = header; strings.HasPrefix(header, `"`) {
		if !quotedKey.MatchString(header) {
			return "", false
		}
		key = regexp.MustCompile(`\\(.)`).ReplaceAllString(header[1:len(header)-1], "$1")
	}
	return key, regexp.MustCompile(`^[!-~]{1,255}$`).MatchString(key)
}

// FuzzAccessLog sends requests with any method, path, request id and address of the client. Each
// has one line of JSON in the access log, without the API key and the query.
func FuzzAccessLog(f *testing.F) {
	s := newFuzzServer(f)
	var log bytes.Buffer
	encoder := zapcore.NewJSONEncoder(zap.NewProductionEncoderConfig())
	logger := zap.New(zapcore.NewCore(encoder, zapcore.AddSync(&log), zapcore.InfoLevel))
	s.handler = s.engine(f, []string{"127.0.0.1"}, func(o *rest.Options) { o.Logger = logger })
	for _, seed := range [][4]string{
		{"GET", "/v1/pets", "id", "192.0.2.1"},
		{"GET", "/v1/nothing", "", ""},
		{"DELETE", "/a\n\x00\xff\" b", "a\"\n", "x, y"},
		{"PURGE", "/petstore_" + strings.Repeat("x", 49), "petstore_x", "::1"},
		{"GET", "/" + strings.Repeat("é", 300), strings.Repeat("i", 300), "\u2028"},
		{"G\nT", "//", "\x1b[0m", "127.0.0.1, 192.0.2.1"},
		{"", "", "\xff", "\x00"},
	} {
		f.Add(seed[0], seed[1], seed[2], seed[3])
	}
	f.Fuzz(func(t *testing.T, method, path, requestID, forwarded string) {
		log.Reset()
		s.handler.ServeHTTP(httptest.NewRecorder(), &http.Request{
			Method: method, URL: &url.URL{Path: path, RawQuery: "token=querysecret"}, Body: http.NoBody, RemoteAddr: "127.0.0.1:1",
			Header: http.Header{"Authorization": {"Bearer " + s.key}, "X-Request-Id": {requestID}, "X-Forwarded-For": {forwarded}},
		})
		var fields map[string]any
		if err := json.Unmarshal(log.Bytes(), &fields); err != nil || bytes.Count(log.Bytes(), []byte("\n")) != 1 {
			t.Fatalf("got the log %q, %v, want one line of JSON", log.Bytes(), err)
		}
		if text := log.String(); !utf8.ValidString(text) || strings.Contains(text, s.key) || strings.Contains(text, "querysecret") || log.Len() > 4096 {
			t.Fatalf("got the log %q, want less than 4 KiB of UTF-8 without secrets", text)
		}
	})
}

var querySeeds = []string{
	"", "&", "limit=1", "limit=100", "limit=101", "limit=0", "limit=-1", "limit=", "limit", "limit=+5", "limit=%2B5", "limit=5.0", "limit=0x10", "limit=007",
	"limit=1_0", "limit=5&limit=6", "l%69mit=3", "Limit=0", "after=5", "after=-5", "after=9223372036854775807", "after=-9223372036854775808",
	"after=9223372036854775808", "after=", "after=-0", "after=5&after=5", "status=sold", "status=available&limit=3&after=7", "status=pending", "status=", "status=Sold",
	"status=s%6fld", "status=sold&status=sold", "status=gone", "limit=%zz", "x=%", "a;b", "limit=5;status=sold", "x=1&x=2&y", "%00=1", "limit=5%00", "\xff", "status=%ff", "limit=٥",
}

func FuzzQuery(f *testing.F) {
	s := newFuzzServer(f)
	toCreate := newPets(110, "")
	for i := range toCreate {
		toCreate[i].Status = []domain.PetStatus{"", "available", "pending", "sold"}[i%4]
	}
	all := s.createPets(f, toCreate...)
	for _, seed := range querySeeds {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, query string) {
		limit, after, status, valid := parseListQuery(query)
		w := s.roundTrip(t, http.MethodGet, query, "", http.Header{})
		if !valid {
			if w.Code != http.StatusBadRequest {
				t.Fatalf("%q: got %d %s, want 400", query, w.Code, w.Body)
			}
			return
		}
		var got []domain.Pet
		if err := json.Unmarshal(w.Body.Bytes(), &got); w.Code != http.StatusOK || err != nil {
			t.Fatalf("%q: got %d %s, want a page", query, w.Code, w.Body)
		}
		want := slices.DeleteFunc(slices.Clone(all), func(p domain.Pet) bool {
			return p.ID <= after || status != "" && string(p.Status) != status
		})
		more := len(want) > limit
		want = want[:min(limit, len(want))]
		if diff := cmp.Diff(want, got); diff != "" || more != (w.Header().Get("Link") != "") {
			t.Fatalf("%q: got Link %q, want one: %t; page (-want +got):\n%s", query, w.Header().Get("Link"), more, diff)
		}
	})
}

var (
	integer   = regexp.MustCompile(`^[0-9]+$`)
	petStatus = regexp.MustCompile(`^(available|pending|sold)$`)
)

// parseListQuery is a second implementation of the documented parameters.
func parseListQuery(query string) (limit int, after int64, status string, valid bool) {
	values, err := url.ParseQuery(query)
	if err != nil {
		return 0, 0, "", false
	}
	number := func(name, fallback string) (n int64, valid bool) {
		texts, ok := values[name]
		if !ok {
			texts = []string{fallback}
		}
		if len(texts) > 1 || !integer.MatchString(texts[0]) {
			return 0, false
		}
		n, err := strconv.ParseInt(texts[0], 10, 64)
		return n, err == nil
	}
	n, validLimit := number("limit", "20")
	after, validAfter := number("after", "0")
	statuses := values["status"]
	validStatus := len(statuses) == 0 || len(statuses) == 1 && petStatus.MatchString(statuses[0])
	return int(n), after, values.Get("status"), validLimit && 1 <= n && n <= 100 && validAfter && validStatus
}
