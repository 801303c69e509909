package http_test

import (
	"bytes"
	"io"
	"net/http"
	"net/url"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/getkin/kin-openapi/openapi3"
	"github.com/getkin/kin-openapi/openapi3filter"
	"github.com/getkin/kin-openapi/routers"
	"github.com/google/go-cmp/cmp"

	"example.com/petstore/docs"
)

// document loads the OpenAPI document once.
var document = sync.OnceValues(func() (*openapi3.T, error) {
	_, text, err := docs.Document(docs.Options{}, "v1")
	if err != nil {
		return nil, err
	}
	return openapi3.NewLoader().LoadFromData(text)
})

func loadDocument(t *testing.T) *openapi3.T {
	t.Helper()
	doc, err := document()
	if err != nil {
		t.Fatal(err)
	}
	return doc
}

// documentedOperations returns a request for each operation of the document, with 1 for
// every path parameter.
func documentedOperations(t *testing.T) (all []request) {
	t.Helper()
	for path, item := range loadDocument(t).Paths.Map() {
		for method := range item.Operations() {
			all = append(all, newRequest(method, "/v1"+pathParameter.ReplaceAllString(path, "1")))
		}
	}
	return all
}

var pathParameter = regexp.MustCompile(`\{\w+\}`)

// checkContract checks a response against the document. The response to an operation that
// is not documented must be a 404 or a 405.
func (s *testServer) checkContract(t *testing.T, res response) {
	t.Helper()
	path, inAPI := strings.CutPrefix(res.Request.URL.EscapedPath(), s.prefix)
	if !inAPI || res.Request.Method == http.MethodOptions {
		return
	}
	req := &http.Request{Method: res.Request.Method, URL: res.Request.URL, Header: res.Request.Header}
	if req.Method == http.MethodHead {
		req.Method = http.MethodGet
	}
	route := findRoute(loadDocument(t), req.Method, path)
	if route == nil {
		if res.StatusCode != http.StatusNotFound && res.StatusCode != http.StatusMethodNotAllowed {
			t.Errorf("%s %s is not documented: got status %d, want 404 or 405", req.Method, path, res.StatusCode)
		}
		return
	}
	err := openapi3filter.ValidateResponse(t.Context(), &openapi3filter.ResponseValidationInput{
		RequestValidationInput: &openapi3filter.RequestValidationInput{Request: req, Route: route},
		Status:                 res.StatusCode,
		Header:                 res.Header,
		Body:                   io.NopCloser(bytes.NewReader(res.body)),
		Options: &openapi3filter.Options{
			IncludeResponseStatus: true,
			ExcludeResponseBody:   res.Request.Method == http.MethodHead,
		},
	})
	if err != nil {
		t.Errorf("%s %s: the response %d differs from the document: %v", req.Method, path, res.StatusCode, err)
		return
	}
	checkDocumentedHeader(t, res, route.Operation)
}

// findRoute returns the operation at an escaped path, or nil. Unlike the routers of
// kin-openapi it ignores no trailing slash.
func findRoute(doc *openapi3.T, method, path string) *routers.Route {
	for template, item := range doc.Paths.Map() {
		matches := func(pattern, segment string) bool {
			segment, err := url.PathUnescape(segment)
			return err == nil && !strings.Contains(segment, "/") &&
				(pattern == segment || segment != "" && strings.HasPrefix(pattern, "{"))
		}
		operation := item.GetOperation(method)
		if operation != nil && slices.EqualFunc(strings.Split(template, "/"), strings.Split(path, "/"), matches) {
			return &routers.Route{Spec: doc, Path: template, PathItem: item, Method: method, Operation: operation}
		}
	}
	return nil
}

// undocumentedHeaders are common to all responses and not part of the document.
var undocumentedHeaders = []string{"Cache-Control", "Content-Length", "Content-Type", "Date", "X-Content-Type-Options", "Connection"}

// isOptional reports whether only some responses with a documented header have it.
func isOptional(operation *openapi3.Operation, header string) bool {
	return header == "Idempotency-Replayed" || header == "WWW-Authenticate" || strings.HasPrefix(header, "RateLimit") || header == "Link" && strings.HasPrefix(operation.OperationID, "list")
}

func checkDocumentedHeader(t *testing.T, res response, operation *openapi3.Operation) {
	t.Helper()
	allowed := slices.Clone(undocumentedHeaders)
	documented := operation.Responses.Status(res.StatusCode)
	if documented == nil {
		t.Errorf("%s: status %d is not documented", operation.OperationID, res.StatusCode)
		return
	}
	for name := range documented.Value.Headers {
		allowed = append(allowed, http.CanonicalHeaderKey(name))
		if len(res.Header.Values(name)) == 0 && !isOptional(operation, name) {
			t.Errorf("%s: the response %d lacks the documented header %s", operation.OperationID, res.StatusCode, name)
		}
	}
	for name := range res.Header {
		if !slices.Contains(allowed, name) {
			t.Errorf("%s: header %s of the response %d is not documented", operation.OperationID, name, res.StatusCode)
		}
	}
}

var ginParameter = regexp.MustCompile(`:(\w+)`)

func TestRegisteredRoutesMatchDocument(t *testing.T) {
	t.Parallel()
	var registered, documented []string
	for _, route := range newUnstartedServer(t).engine(t, nil).Routes() {
		path, inAPI := strings.CutPrefix(route.Path, "/v1")
		if inAPI && route.Method != http.MethodHead && route.Method != http.MethodOptions {
			registered = append(registered, route.Method+" "+ginParameter.ReplaceAllString(path, "{$1}"))
		}
	}
	for path, item := range loadDocument(t).Paths.Map() {
		for method := range item.Operations() {
			documented = append(documented, method+" "+path)
		}
	}
	slices.Sort(registered)
	slices.Sort(documented)
	if diff := cmp.Diff(documented, registered); diff != "" {
		t.Errorf("routes (-documented +registered):\n%s", diff)
	}
}
