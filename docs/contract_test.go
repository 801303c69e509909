package docs_test

import (
	"fmt"
	"maps"
	"slices"
	"testing"

	"github.com/getkin/kin-openapi/openapi3"

	"example.com/petstore/docs"
)

// oasdiff, which make lint runs, compares schemas and parameters, but does not report a
// response that is missing.
func TestDocumentHasEveryResponseOfTheContract(t *testing.T) {
	t.Parallel()
	contract, err := openapi3.NewLoader().LoadFromFile("contract.yaml")
	if err != nil {
		t.Fatal(err)
	}
	doc, err := openapi3.NewLoader().LoadFromData(document(t, docs.Options{}))
	if err != nil {
		t.Fatal(err)
	}
	want, got := responses(contract), responses(doc)
	if len(want) < 10 {
		t.Fatalf("the contract has only %d responses", len(want))
	}
	for _, response := range slices.Sorted(maps.Keys(want)) {
		operation, ok := got[response]
		switch {
		case !ok:
			t.Errorf("the document has no %s", response)
		case want[response] != "" && operation != want[response]:
			t.Errorf("%s: got the operation %s, want %s", response, operation, want[response])
		}
	}
}

// responses returns the id of the operation of each response. The keys have the method,
// path, tags, deprecation and status of the response, and a second key the media type.
func responses(doc *openapi3.T) map[string]string {
	found := map[string]string{}
	for path, item := range doc.Paths.Map() {
		for method, op := range item.Operations() {
			for status, response := range op.Responses.Map() {
				key := fmt.Sprintf("%s %s (%s, deprecated %t) %s", method, path, op.Tags, op.Deprecated, status)
				found[key] = op.OperationID
				for media := range response.Value.Content {
					found[key+" "+media] = op.OperationID
				}
			}
		}
	}
	return found
}
