package http_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"net/http"
	"net/textproto"
	"os"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"

	"github.com/getkin/kin-openapi/openapi3"
	"github.com/getkin/kin-openapi/openapi3filter"
	"github.com/getkin/kin-openapi/routers"
	"github.com/go-json-experiment/json"

	rest "example.com/petstore/delivery/http"
	"example.com/petstore/docs"
)

// A request is an HTTP request to a testServer. By default it has the API key of the server, and a POST, PUT or
// PATCH has the media type application/json. An element of header is "Name: value", in which KEY stands for the API
// key, or "-Name", which removes a default.
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

func postOrder(body string, header ...string) request {
	return request{method: http.MethodPost, path: "/v1/store/orders", header: header, body: body}
}

func newRequest(method, path string, header ...string) request {
	return request{method: method, path: path, header: header}
}

// A wantResponse is what a test expects of a response. Zero fields are not compared.
type wantResponse struct {
	status     int
	code       string   // the code of the error
	message    []string // substrings of the message of the error
	body       string
	header     []string // "Name: value", or "-Name" for an absent header
	absentText []string // texts that must occur neither in the header nor in the body
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
	w.absentText = absent
	return w
}

// A response is an http.Response with its body.
type response struct {
	*http.Response
	body []byte
}

// expect sends a request and checks the response against want and against the rules of every response.
func (s *testServer) expect(t *testing.T, r request, want wantResponse) response {
	t.Helper()
	res := s.expectOnly(t, r, want)
	s.checkRules(t, res)
	if res.Close && res.StatusCode < 500 && len(r.body) <= 64<<10 {
		t.Errorf("got status %d and the end of the connection", res.StatusCode)
	}
	return res
}

// expectOnly is expect without the rules of every response. It is for responses that may break these rules, such
// as those of a host or those with the header fields of CORS.
func (s *testServer) expectOnly(t *testing.T, r request, want wantResponse) response {
	t.Helper()
	res, err := s.send(t.Context(), r)
	check(t, err)
	res.check(t, want)
	return res
}

// send sends a request without checking the response.
func (s *testServer) send(ctx context.Context, r request) (response, error) {
	res, err := s.do(ctx, r)
	if err != nil {
		return response{}, err
	}
	return readBody(res)
}

// do is send without reading the body of the response.
func (s *testServer) do(ctx context.Context, r request) (*http.Response, error) {
	req, err := http.NewRequestWithContext(ctx, r.method, s.url+r.path, strings.NewReader(r.body))
	if err != nil {
		return nil, err
	}
	req.Header.Set("Authorization", "Bearer "+s.key)
	if r.method == http.MethodPost || r.method == http.MethodPut || r.method == http.MethodPatch {
		req.Header.Set("Content-Type", "application/json")
	}
	given := http.Header{}
	for _, line := range r.header {
		name, value, present := strings.Cut(strings.TrimPrefix(line, "-"), ": ")
		name = textproto.CanonicalMIMEHeaderKey(name)
		if given[name] = append(given[name], strings.ReplaceAll(value, "KEY", s.key)); !present {
			given[name] = nil
		}
	}
	maps.Copy(req.Header, given)
	req.Host = given.Get("Host")
	return s.client.Do(req)
}

func readBody(res *http.Response) (response, error) {
	defer res.Body.Close()
	body, err := io.ReadAll(res.Body)
	return response{res, body}, err
}

func (res response) check(t *testing.T, want wantResponse) {
	t.Helper()
	got := fmt.Sprintf("%.300s %.300s: got %d %.300s", res.Request.Method, res.Request.URL.RequestURI(), res.StatusCode, res.body)
	if want.status != 0 && res.StatusCode != want.status {
		t.Errorf("%s, want status %d", got, want.status)
	}
	if want.code != "" {
		e := decodeError(t, res.body)
		lacks := func(text string) bool { return !strings.Contains(e.Message, text) }
		if e.Code != want.code || slices.ContainsFunc(want.message, lacks) {
			t.Errorf("%s, want code %s and a message with %q", got, want.code, want.message)
		}
	}
	if want.body != "" && string(res.body) != want.body {
		t.Errorf("%s, want body %s", got, want.body)
	}
	for _, line := range want.header {
		name, value, present := strings.Cut(strings.TrimPrefix(line, "-"), ": ")
		values := res.Header.Values(name)
		if present && !slices.Equal(values, []string{value}) || !present && values != nil {
			t.Errorf("%s with header %s: %q, want %q", got, name, values, line)
		}
	}
	for _, text := range want.absentText {
		if strings.Contains(fmt.Sprint(res.Header, string(res.body)), text) {
			t.Errorf("%s and header %v, want no text %q", got, res.Header, text)
		}
	}
}

// An errorBody is the published body of an error.
type errorBody struct {
	Code    string `json:"code"`
	Message string `json:"message"`
	Status  int    `json:"status"`
}

// decodeError decodes an error. It must have no other members.
func decodeError(t *testing.T, body []byte) (e errorBody) {
	t.Helper()
	if err := json.Unmarshal(body, &e, json.RejectUnknownMembers(true)); err != nil {
		t.Errorf("got body %.300s, want an error: %v", body, err)
	}
	return e
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

var generatedRequestID = regexp.MustCompile(`^[0-9a-f]{32}$`)

// internalTerms are texts that the message of an error must not contain.
var internalTerms = []string{
	"CategoryID", "newPet", "domain.", "json:", "validate", "strconv", "sql", "SQL", "SELECT", "INSERT", "no such table",
	"context ", "goroutine", ".go:", "panic", "petstore_", "database is",
}

// checkRules checks the rules that every response of the service follows.
func (s *testServer) checkRules(t *testing.T, res response) {
	t.Helper()
	cacheControl, status := "no-store", res.StatusCode
	if res.Header.Get("ETag") != "" && rest.IsSafe(res.Request.Method) {
		cacheControl = "private, no-cache"
	}
	res.check(t, wantResponse{header: []string{"X-Content-Type-Options: nosniff", "Cache-Control: " + cacheControl, "-Server", "-X-Powered-By"}})
	ids, sent := res.Header.Values("X-Request-Id"), res.Request.Header.Get("X-Request-Id")
	if len(ids) != 1 || ids[0] != sent && !generatedRequestID.MatchString(ids[0]) {
		t.Errorf("got request ids %q, want one of 32 hexadecimal digits, or %q of the client", ids, sent)
	}
	for name, want := range map[string]bool{
		"Retry-After":      status == http.StatusServiceUnavailable || status == http.StatusTooManyRequests,
		"Allow":            status == http.StatusMethodNotAllowed || status == http.StatusNoContent && res.Request.Method == http.MethodOptions,
		"WWW-Authenticate": status == http.StatusUnauthorized,
	} {
		if value := res.Header.Get(name); (value != "") != want && status != http.StatusForbidden { // a 403 may have a challenge
			t.Errorf("got status %d with %s %q", status, name, value)
		}
	}
	s.checkContract(t, res)
	noContent := status == http.StatusNoContent || status == http.StatusNotModified
	isEmpty := res.Request.Method == http.MethodHead || noContent
	if isEmpty != (len(res.body) == 0) {
		t.Errorf("%s: got status %d with body %q", res.Request.Method, status, res.body)
	}
	if !noContent {
		res.check(t, wantResponse{header: []string{"Content-Type: application/json"}})
	}
	if status < http.StatusBadRequest || isEmpty {
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

var document = sync.OnceValue(func() *openapi3.T {
	_, text, err := docs.Document(docs.Options{}, "v1")
	doc, loadErr := openapi3.NewLoader().LoadFromData(text)
	if err := errors.Join(err, loadErr); err != nil {
		panic(err)
	}
	return doc
})

var pathParameter = regexp.MustCompile(`\{\w+\}`)

// documentedOperations returns a request for each operation of the document, with 1 for
// every path parameter.
func documentedOperations() (all []request) {
	for path, item := range document().Paths.Map() {
		for method := range item.Operations() {
			all = append(all, newRequest(method, "/v1"+pathParameter.ReplaceAllString(path, "1")))
		}
	}
	return all
}

// checkContract checks a response against the document. If the operation is not documented, the response
// must be a 404 or a 405.
func (s *testServer) checkContract(t *testing.T, res response) {
	t.Helper()
	path, inAPI := strings.CutPrefix(res.Request.URL.Path, s.prefix)
	if !inAPI || res.Request.Method == http.MethodOptions {
		return
	}
	if strings.Contains(strings.ToUpper(res.Request.URL.RawPath), "%2F") {
		path = "an encoded slash is part of a segment, and no documented path has one"
	}
	method := res.Request.Method
	if method == http.MethodHead {
		method = http.MethodGet
	}
	var route *routers.Route // unlike the routers of kin-openapi, this one ignores no trailing slash
	for template, item := range document().Paths.Map() {
		pattern := regexp.MustCompile("^" + pathParameter.ReplaceAllString(template, "[^/]+") + "$")
		if template != path && document().Paths.Value(path) != nil { // a path without parameters is matched first
			continue
		}
		if operation := item.GetOperation(method); operation != nil && pattern.MatchString(path) {
			route = &routers.Route{Spec: document(), Path: template, PathItem: item, Method: method, Operation: operation}
		}
	}
	if route == nil {
		if res.StatusCode != http.StatusNotFound && res.StatusCode != http.StatusMethodNotAllowed {
			t.Errorf("%s %s is not documented: got status %d, want 404 or 405", method, path, res.StatusCode)
		}
		return
	}
	documented := route.Operation.Responses.Status(res.StatusCode)
	if documented == nil { // a validator would accept it: it falls back to default
		t.Errorf("%s: the status %d is not documented", route.Operation.OperationID, res.StatusCode)
		return
	}
	err := openapi3filter.ValidateResponse(t.Context(), &openapi3filter.ResponseValidationInput{
		RequestValidationInput: &openapi3filter.RequestValidationInput{Request: res.Request, Route: route},
		Status:                 res.StatusCode,
		Header:                 res.Header,
		Body:                   io.NopCloser(bytes.NewReader(res.body)),
		Options: &openapi3filter.Options{
			IncludeResponseStatus: true,
			ExcludeResponseBody:   res.Request.Method == http.MethodHead,
		},
	})
	if err != nil {
		t.Errorf("%s %s: the response %d differs from the document: %v", method, path, res.StatusCode, err)
		return
	}

	// Some of the documented header fields are optional. A field that is not documented must be one that all
	// responses may have.
	allowed := []string{"Cache-Control", "Content-Length", "Content-Type", "Date", "X-Content-Type-Options", "Connection"}
	for name := range documented.Value.Headers {
		allowed = append(allowed, http.CanonicalHeaderKey(name))
		optional := name == "Idempotency-Replayed" || name == "WWW-Authenticate" || strings.HasPrefix(name, "RateLimit") ||
			name == "Link" && strings.HasPrefix(route.Operation.OperationID, "list") ||
			name == "Age" || (name == "ETag" || name == "Changes-Position") && res.Header.Get("Age") != ""
		if len(res.Header.Values(name)) == 0 && !optional {
			t.Errorf("%s: the response %d lacks the documented header %s", route.Operation.OperationID, res.StatusCode, name)
		}
	}
	for name := range res.Header {
		if !slices.Contains(allowed, name) {
			t.Errorf("%s: header %s of the response %d is not documented", route.Operation.OperationID, name, res.StatusCode)
		}
	}
}
