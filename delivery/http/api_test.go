package http_test

import (
	"bytes"
	"context"
	"encoding/json"
	"io"
	"net/http"
	"net/textproto"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// A request is what a client sends: with the shop's API key, and with a JSON body
// where it is a POST, unless header says otherwise. A header is "Name: value", and
// "-Name" leaves one out; KEY in it stands for the shop's API key.
type request struct {
	method, path string
	header       []string
	body         string
}

func get(path string, header ...string) request {
	return request{method: http.MethodGet, path: path, header: header}
}

func post(body string, header ...string) request {
	return request{method: http.MethodPost, path: "/v1/pets", header: header, body: body}
}

func send(method, path string, header ...string) request {
	return request{method: method, path: path, header: header}
}

// A want is what an answer must be; its zero fields want nothing.
type want struct {
	status int
	code   string   // of an error
	says   []string // in the message of an error
	body   string   // as JSON
	header []string // "Name: value", or "-Name" for one that must not be there
	never  []string // nowhere in header and body
}

func ok(body string) want { return want{status: http.StatusOK, body: body} }

func created(body string) want { return want{status: http.StatusCreated, body: body} }

func refused(status int, code string, says ...string) want {
	return want{status: status, code: code, says: says}
}

func (w want) with(header ...string) want {
	w.header = append(slices.Clip(w.header), header...)
	return w
}

func (w want) without(never ...string) want {
	w.never = append(slices.Clip(w.never), never...)
	return w
}

// A testCase is a rule of the API with a request that shows it.
type testCase struct {
	rule string
	request
	want
}

// run tests cases that may happen at the same time.
func (s *testServer) run(t *testing.T, cases []testCase) {
	t.Helper()
	for _, e := range cases {
		t.Run(e.rule, func(t *testing.T) {
			t.Parallel()
			s.expect(t, e.request, e.want)
		})
	}
}

// An answer is a response that was read to its end.
type answer struct {
	*http.Response
	body []byte
}

// expect sends a request and returns the answer after all that is checked of it.
func (s *testServer) expect(t *testing.T, r request, w want) answer {
	t.Helper()
	a, err := s.send(t.Context(), r)
	if err != nil {
		t.Fatal(err)
	}
	s.check(t, a)
	a.check(t, w)
	return a
}

// send sends a request and checks nothing.
func (s *testServer) send(ctx context.Context, r request) (answer, error) {
	req, err := http.NewRequestWithContext(ctx, r.method, s.url+r.path, strings.NewReader(r.body))
	if err != nil {
		return answer{}, err
	}
	req.Header.Set("Authorization", "Bearer "+s.key)
	if r.method == http.MethodPost {
		req.Header.Set("Content-Type", "application/json")
	}
	given := map[string]bool{}
	for _, line := range r.header {
		name, value, _ := strings.Cut(line, ": ")
		key := textproto.CanonicalMIMEHeaderKey(strings.TrimPrefix(name, "-"))
		if !given[key] {
			req.Header.Del(key)
		}
		if given[key] = true; !strings.HasPrefix(name, "-") {
			req.Header.Add(key, strings.ReplaceAll(value, "KEY", s.key))
		}
	}
	return s.do(req)
}

func (s *testServer) do(req *http.Request) (answer, error) {
	res, err := s.client.Do(req)
	if err != nil {
		return answer{}, err
	}
	return readAll(res)
}

func readAll(res *http.Response) (answer, error) {
	defer res.Body.Close()
	body, err := io.ReadAll(res.Body)
	return answer{res, body}, err
}

// check compares an answer with what is wanted of it.
func (a answer) check(t *testing.T, w want) {
	t.Helper()
	if w.status != 0 && a.StatusCode != w.status {
		t.Errorf("got the status %d, want %d: %.300s", a.StatusCode, w.status, a.body)
	}
	if w.code != "" || w.says != nil {
		failure := a.failure(t)
		if failure.Code != w.code {
			t.Errorf("got the code %q, want %q: %s", failure.Code, w.code, failure.Message)
		}
		for _, words := range w.says {
			if !strings.Contains(failure.Message, words) {
				t.Errorf("the message %q does not say %q", failure.Message, words)
			}
		}
	}
	if w.body != "" {
		if diff := cmp.Diff(decode(t, []byte(w.body)), decode(t, a.body)); diff != "" {
			t.Errorf("body (-want +got):\n%s", diff)
		}
	}
	for _, line := range w.header {
		name, value, _ := strings.Cut(line, ": ")
		if missing, absent := strings.CutPrefix(name, "-"); absent {
			if got := a.Header.Values(missing); len(got) > 0 {
				t.Errorf("got the header %s: %q, want none", missing, got)
			}
			continue
		}
		if got := a.Header.Values(name); !slices.Equal(got, []string{value}) {
			t.Errorf("got the header %s: %q, want %q", name, got, value)
		}
	}
	var header bytes.Buffer
	_ = a.Header.Write(&header)
	for _, secret := range w.never {
		if strings.Contains(header.String(), secret) || bytes.Contains(a.body, []byte(secret)) {
			t.Errorf("%q stands in the answer\n%s\n%s", secret, header.String(), a.body)
		}
	}
}

// An errorBody is the published record of a failure.
type errorBody struct {
	Code    string
	Message string
	Status  int
}

func (a answer) failure(t *testing.T) (e errorBody) {
	t.Helper()
	if err := json.Unmarshal(a.body, &e); err != nil {
		t.Errorf("the body is no error: %v: %.300s", err, a.body)
	}
	return e
}

// decode keeps every digit of a number.
func decode(t *testing.T, body []byte) (value any) {
	t.Helper()
	decoder := json.NewDecoder(bytes.NewReader(body))
	decoder.UseNumber()
	if err := decoder.Decode(&value); err != nil {
		t.Errorf("the body is no JSON: %v: %.300s", err, body)
	}
	if _, err := decoder.Token(); err != io.EOF {
		t.Errorf("something follows the JSON: %.300s", body)
	}
	return value
}
