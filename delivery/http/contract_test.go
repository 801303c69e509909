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

// document loads the published document once.
var document = sync.OnceValues(func() (*openapi3.T, error) {
	of, err := docs.Document(docs.Options{})
	if err != nil {
		return nil, err
	}
	return openapi3.NewLoader().LoadFromData(of(""))
})

func loadDocument(t *testing.T) *openapi3.T {
	t.Helper()
	doc, err := document()
	if err != nil {
		t.Fatal(err)
	}
	return doc
}

// operations are all operations of the document as requests, each to the record 1.
func operations(t *testing.T) (all []request) {
	t.Helper()
	for path, item := range loadDocument(t).Paths.Map() {
		for method := range item.Operations() {
			all = append(all, send(method, "/v1"+pathParameter.ReplaceAllString(path, "1")))
		}
	}
	return all
}

var pathParameter = regexp.MustCompile(`\{\w+\}`)

// checkContract compares an answer of a documented operation with the document;
// what the document does not know can only be refused.
func (s *testServer) checkContract(t *testing.T, a answer) {
	t.Helper()
	path, ours := strings.CutPrefix(a.Request.URL.EscapedPath(), s.prefix)
	if !ours || a.Request.Method == http.MethodOptions {
		return
	}
	asked := &http.Request{Method: a.Request.Method, URL: a.Request.URL, Header: a.Request.Header}
	if asked.Method == http.MethodHead {
		asked.Method = http.MethodGet
	}
	route := findRoute(loadDocument(t), asked.Method, path)
	if route == nil {
		if a.StatusCode != http.StatusNotFound && a.StatusCode != http.StatusMethodNotAllowed {
			t.Errorf("%s %s is not documented and answered %d", asked.Method, path, a.StatusCode)
		}
		return
	}
	err := openapi3filter.ValidateResponse(t.Context(), &openapi3filter.ResponseValidationInput{
		RequestValidationInput: &openapi3filter.RequestValidationInput{Request: asked, Route: route},
		Status:                 a.StatusCode,
		Header:                 a.Header,
		Body:                   io.NopCloser(bytes.NewReader(a.body)),
		Options: &openapi3filter.Options{
			IncludeResponseStatus: true,
			ExcludeResponseBody:   a.Request.Method == http.MethodHead,
		},
	})
	if err != nil {
		t.Errorf("%s %s: the answer %d is not as documented: %v", asked.Method, path, a.StatusCode, err)
		return
	}
	checkDocumentedHeader(t, a, route.Operation)
}

// findRoute is the operation at an escaped path. kin-openapi's own routers forgive a
// slash at the end, which the service does not.
func findRoute(doc *openapi3.T, method, path string) *routers.Route {
	for template, item := range doc.Paths.Map() {
		same := func(pattern, segment string) bool {
			segment, err := url.PathUnescape(segment)
			return err == nil && !strings.Contains(segment, "/") &&
				(pattern == segment || segment != "" && strings.HasPrefix(pattern, "{"))
		}
		operation := item.GetOperation(method)
		if operation != nil && slices.EqualFunc(strings.Split(template, "/"), strings.Split(path, "/"), same) {
			return &routers.Route{Spec: doc, Path: template, PathItem: item, Method: method, Operation: operation}
		}
	}
	return nil
}

// plain are the headers of HTTP itself and those that simply every answer has.
var plain = []string{"Cache-Control", "Content-Length", "Content-Type", "Date", "X-Content-Type-Options", "Connection"}

// conditional reports whether only some of the answers with one status have a header.
func conditional(operation *openapi3.Operation, header string) bool {
	return header == "Idempotency-Replayed" || strings.HasPrefix(header, "RateLimit") || header == "Link" && strings.HasPrefix(operation.OperationID, "list")
}

func checkDocumentedHeader(t *testing.T, a answer, operation *openapi3.Operation) {
	t.Helper()
	known := slices.Clone(plain)
	documented := operation.Responses.Status(a.StatusCode)
	if documented == nil {
		t.Errorf("%s: the status %d is not documented", operation.OperationID, a.StatusCode)
		return
	}
	for name := range documented.Value.Headers {
		known = append(known, http.CanonicalHeaderKey(name))
		if len(a.Header.Values(name)) == 0 && !conditional(operation, name) {
			t.Errorf("%s: the answer %d lacks the documented header %s", operation.OperationID, a.StatusCode, name)
		}
	}
	for name := range a.Header {
		if !slices.Contains(known, name) {
			t.Errorf("%s: the header %s of the answer %d is not documented", operation.OperationID, name, a.StatusCode)
		}
	}
}

var ginParameter = regexp.MustCompile(`:(\w+)`)

func TestEveryRouteIsDocumentedAndEveryOperationHasARoute(t *testing.T) {
	t.Parallel()
	var routed, documented []string
	for _, route := range newUnstartedServer(t).engine(t, nil, defaultServices).Routes() {
		path, ours := strings.CutPrefix(route.Path, "/v1")
		if ours && route.Method != http.MethodHead && route.Method != http.MethodOptions {
			routed = append(routed, route.Method+" "+ginParameter.ReplaceAllString(path, "{$1}"))
		}
	}
	for path, item := range loadDocument(t).Paths.Map() {
		for method := range item.Operations() {
			documented = append(documented, method+" "+path)
		}
	}
	slices.Sort(routed)
	slices.Sort(documented)
	if diff := cmp.Diff(documented, routed); diff != "" {
		t.Errorf("routes (-documented +registered):\n%s", diff)
	}
}
