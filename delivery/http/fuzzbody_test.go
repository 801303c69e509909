package http_test

import (
	"bytes"
	"encoding/json"
	"io"
	"net/http"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
	"unicode/utf8"

	"example.com/petstore/domain"
)

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
