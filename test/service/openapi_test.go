package service

import (
	"bytes"
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
	"testing"

	"github.com/getkin/kin-openapi/openapi3"
	"github.com/google/go-cmp/cmp"

	"example.com/petstore/test/harness"
)

func TestOpenAPIServersAreThisServerAndThoseOfTheSettings(t *testing.T) {
	t.Parallel()
	s := harness.Start(t, t.TempDir(), "--set", "server.trusted_proxies=127.0.0.1",
		"--set", "server.production_url=https://pets.example/shop", "--set", "server.staging_url=https://staging.example")
	var got []string
	for _, server := range s.Document(t, "X-Forwarded-Proto", "https", "X-Forwarded-Host", "shop.example:8443").Servers {
		got = append(got, server.URL)
	}
	if diff := cmp.Diff([]string{"https://pets.example/shop/v1", s.URL + "/v1", "https://staging.example/v1"}, got); diff != "" {
		t.Errorf("servers (-want +got):\n%s", diff)
	}
}

// TestOpenAPIExamplesSucceedOnASeededStore sends the example request of every operation to the first server of the
// document: on one store those that deliver, on another those that cancel the same order.
func TestOpenAPIExamplesSucceedOnASeededStore(t *testing.T) {
	t.Parallel()
	for _, other := range []string{"/deliver", "/cancel"} {
		dir, operations := t.TempDir(), 0
		harness.MustRun(t, dir, "seed")
		s := harness.Start(t, dir, "--set", "changes.enabled=true")
		doc := s.Document(t)
		for path, item := range doc.Paths.Map() {
			for method := range item.Operations() {
				if strings.HasSuffix(path, other) {
					continue
				}
				operations++
				request := exampleRequest(t, doc, method, path)
				request.Header.Set("Authorization", "Bearer "+s.Key)
				if status, body, err := harness.Send(harness.Client, request); err != nil || status >= 300 {
					t.Errorf("%s: got %d %s %v, want less than 300", request.URL, status, body, err)
				}
			}
		}
		if operations < 7 {
			t.Errorf("got %d operations, want at least 7", operations)
		}
	}
}

// exampleRequest returns the request that Swagger UI sends if the user types nothing.
func exampleRequest(t *testing.T, doc *openapi3.T, method, path string) *http.Request {
	t.Helper()
	operation := doc.Paths.Value(path).GetOperation(method)
	for _, p := range operation.Parameters {
		if p.Value.In == openapi3.ParameterInPath {
			path = strings.ReplaceAll(path, "{"+p.Value.Name+"}", fmt.Sprint(p.Value.Example))
		}
	}
	body := []byte{}
	if operation.RequestBody != nil {
		fields := map[string]any{}
		for name, field := range operation.RequestBody.Value.Content["application/json"].Schema.Value.Properties {
			fields[name] = field.Value.Example
			if field.Value.Enum != nil {
				fields[name] = field.Value.Enum[0]
			}
		}
		var err error
		if body, err = json.Marshal(fields); err != nil {
			t.Fatal(err)
		}
	}
	request, err := http.NewRequestWithContext(t.Context(), method, doc.Servers[0].URL+path, bytes.NewReader(body))
	harness.Check(t, err)
	if len(body) > 0 {
		request.Header.Set("Content-Type", "application/json")
	}
	return request
}
