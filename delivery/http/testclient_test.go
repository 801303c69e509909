package http_test

import (
	"bytes"
	"context"
	"io"
	"net/http"
	"net/http/httptest"
	"net/textproto"
	"net/url"
	"os"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/gin-gonic/gin"
	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
	"github.com/google/go-cmp/cmp"
)

// A request is an HTTP request to a testServer. By default it has the server's API key
// and, for a POST, the media type application/json. An element of header is "Name: value",
// in which KEY stands for the API key, or "-Name" to remove a default.
type request struct {
	method, path string
	header       []string
	body         string
}

func get(path string, header ...string) request {
	return request{method: http.MethodGet, path: path, header: header}
}

func postPet(body string, header ...string) request {
	return request{method: http.MethodPost, path: "/v1/pets", header: header, body: body}
}

func newRequest(method, path string, header ...string) request {
	return request{method: method, path: path, header: header}
}

// A wantResponse is what a test expects of a response. Zero fields are not compared.
type wantResponse struct {
	status     int
	code       string   // of the error
	message    []string // substrings of the message of the error
	body       string   // compared as JSON
	header     []string // "Name: value", or "-Name" for an absent header
	absentText []string // must occur neither in the header nor in the body
}

func ok(body string) wantResponse { return wantResponse{status: http.StatusOK, body: body} }

func created(body string) wantResponse { return wantResponse{status: http.StatusCreated, body: body} }

func rejected(status int, code string, message ...string) wantResponse {
	return wantResponse{status: status, code: code, message: message}
}

func (w wantResponse) withHeader(header ...string) wantResponse {
	w.header = append(slices.Clip(w.header), header...)
	return w
}

func (w wantResponse) withoutText(absent ...string) wantResponse {
	w.absentText = append(slices.Clip(w.absentText), absent...)
	return w
}

type testCase struct {
	name    string
	request request
	want    wantResponse
}

// A response is an http.Response whose body was read.
type response struct {
	*http.Response
	body []byte
}

// expect sends a request and checks the response against want and checkCommonRules.
func (s *testServer) expect(t *testing.T, r request, want wantResponse) response {
	t.Helper()
	res := s.expectOnly(t, r, want)
	s.checkCommonRules(t, res)
	return res
}

// expectDocumented is expect without checkCommonHeader, for a 429 and for responses of
// a host.
func (s *testServer) expectDocumented(t *testing.T, r request, want wantResponse) {
	t.Helper()
	res := s.expectOnly(t, r, want)
	res.checkBody(t)
	s.checkContract(t, res)
}

// expectOnly is expect without checkCommonRules, for responses that a test changes or a host sends.
func (s *testServer) expectOnly(t *testing.T, r request, want wantResponse) response {
	t.Helper()
	res, err := s.send(t.Context(), r)
	if err != nil {
		t.Fatal(err)
	}
	res.check(t, want)
	return res
}

// send sends a request without checking the response.
func (s *testServer) send(ctx context.Context, r request) (response, error) {
	req, err := http.NewRequestWithContext(ctx, r.method, s.url+r.path, strings.NewReader(r.body))
	if err != nil {
		return response{}, err
	}
	req.Header.Set("Authorization", "Bearer "+s.key)
	if r.method == http.MethodPost {
		req.Header.Set("Content-Type", "application/json")
	}
	replaced := map[string]bool{}
	for _, line := range r.header {
		name, value, _ := strings.Cut(line, ": ")
		key := textproto.CanonicalMIMEHeaderKey(strings.TrimPrefix(name, "-"))
		if !replaced[key] {
			req.Header.Del(key)
		}
		if replaced[key] = true; !strings.HasPrefix(name, "-") {
			req.Header.Add(key, strings.ReplaceAll(value, "KEY", s.key))
		}
	}
	req.Host = req.Header.Get("Host")
	res, err := s.client.Do(req)
	if err != nil {
		return response{}, err
	}
	return readBody(res)
}

func readBody(res *http.Response) (response, error) {
	defer res.Body.Close()
	body, err := io.ReadAll(res.Body)
	return response{res, body}, err
}

func (res response) name() string { return res.Request.Method + " " + res.Request.URL.RequestURI() }

func (res response) check(t *testing.T, want wantResponse) {
	t.Helper()
	if want.status != 0 && res.StatusCode != want.status {
		t.Errorf("%.300s: got status %d, want %d: %.300s", res.name(), res.StatusCode, want.status, res.body)
	}
	if want.code != "" || want.message != nil {
		e := decodeError(t, res.body)
		if e.Code != want.code {
			t.Errorf("%.300s: got code %q, want %q: %s", res.name(), e.Code, want.code, e.Message)
		}
		for _, text := range want.message {
			if !strings.Contains(e.Message, text) {
				t.Errorf("%.300s: got message %q, want it to contain %q", res.name(), e.Message, text)
			}
		}
	}
	if want.body != "" {
		if diff := cmp.Diff(canonical(t, []byte(want.body)), canonical(t, res.body)); diff != "" {
			t.Errorf("%.300s: body (-want +got):\n%s", res.name(), diff)
		}
	}
	for _, line := range want.header {
		name, value, _ := strings.Cut(line, ": ")
		if name, absent := strings.CutPrefix(name, "-"); absent {
			if got := res.Header.Values(name); len(got) > 0 {
				t.Errorf("%.300s: got header %s: %q, want none", res.name(), name, got)
			}
			continue
		}
		if got := res.Header.Values(name); !slices.Equal(got, []string{value}) {
			t.Errorf("%.300s: got header %s: %q, want %q", res.name(), name, got, value)
		}
	}
	var header bytes.Buffer
	_ = res.Header.Write(&header)
	for _, text := range want.absentText {
		if strings.Contains(header.String(), text) || bytes.Contains(res.body, []byte(text)) {
			t.Errorf("got a response that contains %q:\n%s\n%s", text, header.String(), res.body)
		}
	}
}

// An errorBody is the published body of an error.
type errorBody struct {
	Code    string `json:"code"`
	Message string `json:"message"`
	Status  int    `json:"status"`
}

// decodeError decodes an error, which must have no other members.
func decodeError(t *testing.T, body []byte) (e errorBody) {
	t.Helper()
	if err := json.Unmarshal(body, &e, json.RejectUnknownMembers(true)); err != nil {
		t.Errorf("got body %.300s, want an error: %v", body, err)
	}
	return e
}

// canonical returns one JSON value with sorted members and without spaces.
func canonical(t *testing.T, body []byte) string {
	t.Helper()
	text, err := jsontext.AppendFormat(nil, body, jsontext.ReorderRawObjects(true))
	if err != nil {
		t.Errorf("got body %.300s, want one JSON value: %v", body, err)
	}
	return string(text)
}

// publishedCodes maps every published code to its status.
var publishedCodes = func() map[string]int {
	page, _ := os.ReadFile("../../docs/errors.md") // without it, no code is published
	codes := map[string]int{}
	for _, row := range regexp.MustCompile("(?m)^\\| `(\\w+)` \\| (\\d+) \\|").FindAllStringSubmatch(string(page), -1) {
		codes[row[1]], _ = strconv.Atoi(row[2])
	}
	return codes
}()

var (
	validRequestID     = regexp.MustCompile(`^[A-Za-z0-9._-]{1,64}$`)
	generatedRequestID = regexp.MustCompile(`^[0-9a-f]{32}$`)
	retryAfterSeconds  = regexp.MustCompile(`^[1-9]\d*$`)
)

// internalTerms are texts that the message of an error must not contain.
var internalTerms = []string{
	"CategoryID", "newPet", "domain.", "json:", "validate", "strconv", "sql", "SQL", "SELECT", "INSERT", "no such table",
	"context ", "goroutine", ".go:", "panic", "petstore_", "database is",
}

// checkCommonRules checks the rules that every response of the service follows.
func (s *testServer) checkCommonRules(t *testing.T, res response) {
	t.Helper()
	res.checkCommonHeader(t)
	challenge, unauthorized := res.Header.Get("WWW-Authenticate"), res.StatusCode == http.StatusUnauthorized
	if res.StatusCode != http.StatusForbidden && strings.HasPrefix(challenge, s.challenge) != unauthorized {
		t.Errorf("got status %d with WWW-Authenticate %q", res.StatusCode, challenge)
	}
	res.checkBody(t)
	s.checkContract(t, res)
}

func (res response) checkCommonHeader(t *testing.T) {
	t.Helper()
	cacheControl := "no-store"
	if res.Header.Get("ETag") != "" { // a list
		cacheControl = "private, no-cache"
	}
	res.check(t, wantResponse{header: []string{"X-Content-Type-Options: nosniff", "Cache-Control: " + cacheControl, "-Server", "-X-Powered-By"}})

	ids, sent := res.Header.Values("X-Request-Id"), res.Request.Header.Get("X-Request-Id")
	switch {
	case len(ids) != 1:
		t.Errorf("got request ids %q, want one", ids)
	case isValidRequestID(sent) && ids[0] != sent:
		t.Errorf("got request id %q, want %q of the client", ids[0], sent)
	case !isValidRequestID(sent) && !generatedRequestID.MatchString(ids[0]):
		t.Errorf("got request id %q, want 32 hexadecimal digits", ids[0])
	}
	if value := res.Header.Get("Retry-After"); retryAfterSeconds.MatchString(value) != (res.StatusCode == http.StatusServiceUnavailable) {
		t.Errorf("got status %d with Retry-After %q", res.StatusCode, value)
	}
	if res.StatusCode == http.StatusMethodNotAllowed && res.Header.Get("Allow") == "" {
		t.Error("got a 405 without Allow")
	}
}

// checkBody checks that a body exists where the method and the status allow one, and
// that an error has the published format.
func (res response) checkBody(t *testing.T) {
	t.Helper()
	noContent := res.StatusCode == http.StatusNoContent || res.StatusCode == http.StatusNotModified
	wantEmpty := res.Request.Method == http.MethodHead || noContent
	if wantEmpty != (len(res.body) == 0) {
		t.Errorf("%s: got status %d with body %q", res.Request.Method, res.StatusCode, res.body)
	}
	if !noContent {
		res.check(t, wantResponse{header: []string{"Content-Type: application/json"}})
	}
	if res.StatusCode < http.StatusBadRequest || wantEmpty {
		return
	}
	e := decodeError(t, res.body)
	if e.Status != res.StatusCode || publishedCodes[e.Code] != res.StatusCode || e.Message == "" {
		t.Errorf("got error %s with status %d", res.body, res.StatusCode)
	}
	if i := slices.IndexFunc(internalTerms, func(term string) bool { return strings.Contains(e.Message, term) }); i >= 0 {
		t.Errorf("got message %q, want it without %q", e.Message, internalTerms[i])
	}
}

// isValidRequestID reports whether the service uses the X-Request-Id of a client, which may
// be any but an API key.
func isValidRequestID(id string) bool {
	return validRequestID.MatchString(id) && !strings.HasPrefix(id, "petstore_")
}

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

// roundTrip serves a request, also one that net/http would not send. It fails the test for a status
// of 500 or more.
func (f fuzzServer) roundTrip(t *testing.T, method, path, query, body string, header http.Header) *httptest.ResponseRecorder {
	t.Helper()
	header.Set("Authorization", "Bearer "+f.key)
	header.Set("Content-Type", "application/json")
	w := httptest.NewRecorder()
	f.handler.ServeHTTP(w, &http.Request{
		Method: method, URL: &url.URL{Path: path, RawQuery: query}, Header: header,
		Body: io.NopCloser(strings.NewReader(body)), RemoteAddr: "127.0.0.1:1",
	})
	if w.Code >= http.StatusInternalServerError {
		t.Fatalf("got status %d: %s\n%v", w.Code, w.Body, f.log.TakeAll())
	}
	f.log.TakeAll() // bound the memory
	return w
}

// wantError expects the error with a code. Its message must have these rules, or begin each rule with
// these fields, and no others, unless there are none.
func wantError(t *testing.T, w *httptest.ResponseRecorder, code string, rules []string) {
	t.Helper()
	e := decodeError(t, w.Body.Bytes())
	if e.Code != code || e.Status != w.Code || w.Code != publishedCodes[code] || w.Header().Get("Location") != "" {
		t.Fatalf("got %d %s, want %s", w.Code, w.Body, code)
	}
	got := strings.Split(e.Message, "; ")
	slices.Sort(got)
	slices.Sort(rules)
	if rules != nil && !slices.EqualFunc(got, rules, strings.HasPrefix) {
		t.Fatalf("got the rules %q, want %q", got, rules)
	}
}
