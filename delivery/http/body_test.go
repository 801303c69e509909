package http_test

import (
	"bytes"
	"fmt"
	"net/http"
	"strings"
	"testing"
)

func TestBodyIsOneObjectOfInternetJSON(t *testing.T) {
	t.Parallel()
	s := newTestServer(t)
	invalid := refused(400, "invalid_json")
	s.run(t, []testCase{
		{"white space around", post(" \t\r\n{ \"name\" : \"Rex\" ,\n\"categoryId\" : 7 } \n"), created("")},
		{"escaped name of a member", post(`{"n\u0061me":"Rex","categoryId":7}`), created("")},

		{"empty", post(``), invalid},
		{"white space alone", post(" \n"), invalid},
		{"null", post(`null`), invalid},
		{"an array", post(`[{"name":"Rex","categoryId":7}]`), invalid},
		{"a string", post(`"Rex"`), invalid},
		{"a number", post(`7`), invalid},
		{"a boolean", post(`true`), invalid},
		{"cut off", post(`{"name":"Rex","categoryId":7`), invalid},
		{"cut off in a string", post(`{"name":"Re`), invalid},
		{"followed by an object", post(`{"name":"Rex","categoryId":7}{}`), invalid},
		{"followed by a letter", post(`{"name":"Rex","categoryId":7}x`), invalid},
		{"followed by NUL", post("{\"name\":\"Rex\",\"categoryId\":7}\x00"), invalid},
		{"byte order mark", post("\ufeff" + `{"name":"Rex","categoryId":7}`), invalid},
		{"UTF-16", post("{\x00}\x00"), invalid},
		{"single quotes", post(`{'name':'Rex','categoryId':7}`), invalid},
		{"bare names", post(`{name:"Rex",categoryId:7}`), invalid},
		{"comma at the end", post(`{"name":"Rex","categoryId":7,}`), invalid},
		{"comment", post(`{"name":"Rex","categoryId":7/* */}`), invalid},
		{"NaN", post(`{"name":"Rex","categoryId":NaN}`), invalid},
		{"number with a plus", post(`{"name":"Rex","categoryId":+7}`), invalid},
		{"number with a leading zero", post(`{"name":"Rex","categoryId":07}`), invalid},
		{"hexadecimal number", post(`{"name":"Rex","categoryId":0x7}`), invalid},
		{"bare control character in a string", post("{\"name\":\"R\nex\",\"categoryId\":7}"), invalid},
		{"unknown escape", post(`{"name":"R\x65x","categoryId":7}`), invalid},

		{"name given twice", post(`{"name":"Rex","name":"Rex","categoryId":7}`), invalid},
		{"name given twice, once escaped", post(`{"name":"Rex","n\u0061me":"Tom","categoryId":7}`), invalid},
		{"unknown member given twice", post(`{"name":"Rex","categoryId":7,"x":1,"x":1}`), invalid},
		{"member given twice further in", post(`{"name":"Rex","categoryId":7,"x":[{"y":1,"y":1}]}`), invalid},

		{"invalid UTF-8 in a value", post("{\"name\":\"R\xffx\",\"categoryId\":7}"), invalid},
		{"overlong UTF-8", post("{\"name\":\"R\xc0\xafx\",\"categoryId\":7}"), invalid},
		{"surrogate in UTF-8", post("{\"name\":\"R\xed\xa0\x80x\",\"categoryId\":7}"), invalid},
		{"invalid UTF-8 in a name", post("{\"name\":\"Rex\",\"categoryId\":7,\"\xff\":1}"), invalid},
		{"invalid UTF-8 in an unknown member", post("{\"name\":\"Rex\",\"categoryId\":7,\"x\":\"\xff\"}"), invalid},
		{"lone high surrogate", post(`{"name":"R\ud83dx","categoryId":7}`), invalid},
		{"lone low surrogate", post(`{"name":"R\ude00x","categoryId":7}`), invalid},
		{"surrogates the wrong way round", post(`{"name":"\ude00\ud83d","categoryId":7}`), invalid},
		{"lone surrogate in an unknown member", post(`{"name":"Rex","categoryId":7,"x":"\ud800"}`), invalid},
		{"lone surrogate in a name", post(`{"name":"Rex","categoryId":7,"\udfff":1}`), invalid},
		{"nested too deep", post(nested(20_000)), invalid},
	})
}

// nested is a pet with an unknown member of so many arrays in each other.
func nested(depth int) string {
	return `{"name":"Rex","categoryId":7,"x":` + strings.Repeat("[", depth) + strings.Repeat("]", depth) + `}`
}

func TestMembersOutsideTheContractAreIgnored(t *testing.T) {
	t.Parallel()
	for rule, body := range map[string]string{
		"unknown":                    `{"name":"Rex","categoryId":7,"colour":"brown","tags":[1,{"a":null}],"":0}`,
		"id":                         `{"id":99,"name":"Rex","categoryId":7}`,
		"id of another type":         `{"id":"x","name":"Rex","categoryId":7}`,
		"in other letters":           `{"name":"Rex","categoryId":7,"Name":"Tom","NAME":1,"categoryID":8,"CategoryId":null,"Status":"x"}`,
		"in letters that fold alike": `{"name":"Rex","categoryId":7,"ſtatus":"sold","\u212aname":1}`,
		"named in Go's words":        `{"name":"Rex","categoryId":7,"CategoryID":8,"category_id":8}`,
		"deep":                       nested(5_000),
	} {
		t.Run(rule, func(t *testing.T) {
			t.Parallel()
			s := newTestServer(t)
			s.expect(t, post(body), created(`{"id":1,"name":"Rex","categoryId":7}`))
		})
	}
}

func TestBodyHoldsUpTo64KiB(t *testing.T) {
	t.Parallel()
	s := newTestServer(t)
	sized := func(size int) string {
		const start, end = `{"name":"Rex","categoryId":7,"x":"`, `"}`
		return start + strings.Repeat("x", size-len(start)-len(end)) + end
	}
	tooLarge := refused(413, "body_too_large", "65536")
	s.run(t, []testCase{
		{"exactly", post(sized(64 << 10)), created("")},
		{"one byte more", post(sized(64<<10 + 1)), tooLarge},
		{"one byte of white space more", post(sized(64<<10) + " "), tooLarge},
		{"much more", post(sized(200 << 10)), tooLarge},
	})
	for size, w := range map[int]want{64 << 10: created(""), 64<<10 + 1: tooLarge} {
		t.Run(fmt.Sprintf("%d bytes in chunks", size), func(t *testing.T) {
			t.Parallel()
			s.inChunks(t, sized(size), w)
		})
	}
}

// inChunks posts a body whose length is not told in advance.
func (s *testServer) inChunks(t *testing.T, body string, w want) {
	t.Helper()
	chunks := struct{ *bytes.Reader }{bytes.NewReader([]byte(body))} // of a type whose length net/http does not know
	req, err := http.NewRequestWithContext(t.Context(), http.MethodPost, s.url+"/v1/pets", chunks)
	if err != nil {
		t.Fatal(err)
	}
	req.Header = http.Header{"Authorization": {"Bearer " + s.key}, "Content-Type": {"application/json"}}
	a, err := s.do(req)
	if err != nil {
		t.Fatal(err)
	}
	s.check(t, a)
	a.check(t, w)
}
