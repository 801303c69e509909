package docs_test

import (
	"fmt"
	"maps"
	"slices"
	"testing"

	"github.com/getkin/kin-openapi/openapi3"

	"example.com/petstore/docs"
)

// oasdiff compares schemas and parameters, but passes over an answer that is gone.
func TestDocumentKeepsEveryAnswerOfTheContract(t *testing.T) {
	t.Parallel()
	contract, err := openapi3.NewLoader().LoadFromFile("contract.yaml")
	if err != nil {
		t.Fatal(err)
	}
	ours, err := openapi3.NewLoader().LoadFromData(document(t, docs.Options{}))
	if err != nil {
		t.Fatal(err)
	}
	promised, kept := answers(contract), answers(ours)
	if len(promised) < 10 {
		t.Fatalf("the contract has only %d answers", len(promised))
	}
	for _, answer := range slices.Sorted(maps.Keys(promised)) {
		id, ok := kept[answer]
		switch {
		case !ok:
			t.Errorf("%s is gone", answer)
		case promised[answer] != "" && id != promised[answer]:
			t.Errorf("%s is of %s, promised of %s", answer, id, promised[answer])
		}
	}
}

// answers are the method, path and status of each answer, with tag and media
// types, and the operation that they belong to.
func answers(doc *openapi3.T) map[string]string {
	found := map[string]string{}
	for path, item := range doc.Paths.Map() {
		for method, op := range item.Operations() {
			for status, response := range op.Responses.Map() {
				route := fmt.Sprintf("%s %s (%s, deprecated %t) %s", method, path, op.Tags, op.Deprecated, status)
				found[route] = op.OperationID
				for media := range response.Value.Content {
					found[route+" "+media] = op.OperationID
				}
			}
		}
	}
	return found
}
