package docs_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"os"
	"slices"
	"testing"

	"github.com/getkin/kin-openapi/openapi3"
	gocmp "github.com/google/go-cmp/cmp"
	"go.yaml.in/yaml/v3"

	"example.com/petstore/docs"
)

func TestDocumentWithoutOptionsIsCommittedOneForThisServer(t *testing.T) {
	t.Parallel()
	committed, err := os.ReadFile("openapi.json")
	if err != nil {
		t.Fatal(err)
	}
	want, got := decode(t, committed), decode(t, document(t, docs.Options{}))
	want["servers"] = []any{map[string]any{"description": "This server", "url": "v1"}}
	if diff := gocmp.Diff(want, got); diff != "" {
		t.Errorf("document (-want +got):\n%s", diff)
	}
}

func TestDocumentHasServersOfDeployment(t *testing.T) {
	t.Parallel()
	deployed := docs.Options{ProductionURL: "https://pets.example/<shop>/", StagingURL: `https://"staging".example`}
	for _, test := range []struct {
		options docs.Options
		address string
		want    []server
	}{
		{docs.Options{}, "v1", []server{{"This server", "v1", nil}}},
		{docs.Options{}, "../shop", []server{{"This server", "../shop", nil}}},
		{docs.Options{StagingURL: "https://staging.example"}, "v7", []server{{"This server", "v7", nil}, staging("/v7", "https://staging.example")}},
		{deployed, "../v2", []server{
			production("/v2", "https://pets.example/<shop>"), {"This server", "../v2", nil}, staging("/v2", `https://"staging".example`),
		}},
		{deployed, ".", []server{
			production("", "https://pets.example/<shop>"), {"This server", ".", nil}, staging("", `https://"staging".example`),
		}},
	} {
		_, text, err := docs.Document(test.options, test.address)
		if err != nil {
			t.Fatal(err)
		}
		var got struct{ Servers []server }
		if err := json.Unmarshal(text, &got); err != nil {
			t.Fatal(err)
		}
		if diff := gocmp.Diff(test.want, got.Servers); diff != "" {
			t.Errorf("%s: servers (-want +got):\n%s", test.address, diff)
		}
	}
}

type server struct {
	Description, URL string
	Variables        map[string]struct{ Default string }
}

func production(name, url string) server {
	return server{"Production", "{base_url}" + name, map[string]struct{ Default string }{"base_url": {url}}}
}

func staging(name, url string) server {
	return server{"Staging", "{staging_url}" + name, map[string]struct{ Default string }{"staging_url": {url}}}
}

func TestYAMLIsTheSameDocument(t *testing.T) {
	t.Parallel()
	inJSON := document(t, docs.Options{Title: "Shop: 1 # 'quoted'", Description: "First line.\n\n- Second: line"})
	text, err := docs.YAML(inJSON)
	if err != nil {
		t.Fatal(err)
	}
	var got map[string]any
	if err := yaml.Unmarshal(text, &got); err != nil {
		t.Fatal(err)
	}
	again, err := json.Marshal(got) // which has the types of JSON for numbers
	if err != nil {
		t.Fatal(err)
	}
	if diff := gocmp.Diff(decode(t, inJSON), decode(t, again)); diff != "" {
		t.Errorf("(-JSON +YAML):\n%s", diff)
	}
	if !bytes.HasPrefix(text, []byte("openapi: 3.0.3\ninfo:\n")) || bytes.Contains(text, []byte(`{"`)) {
		t.Errorf("the YAML is not in block style, or not in the order of the JSON:\n%.200s", text)
	}
}

func TestDocumentHasPropertiesOfHost(t *testing.T) {
	t.Parallel()
	got := decode(t, document(t, docs.Options{
		Title: "Shop <1>", Description: "Animals of the *shop*.", Contact: &docs.Contact{Name: "Ann", Email: "ann@shop.example"},
		SecurityScheme: map[string]any{"type": "apiKey", "in": "cookie", "name": "session"},
	}))
	info, components := got["info"].(map[string]any), got["components"].(map[string]any)
	want := map[string]any{
		"title": "Shop <1>", "description": "Animals of the *shop*.", "contact": map[string]any{"name": "Ann", "email": "ann@shop.example"},
		"license": info["license"], "version": "1.0.0",
	}
	if diff := gocmp.Diff(want, info); diff != "" {
		t.Errorf("info (-want +got):\n%s", diff)
	}
	scheme := map[string]any{"host": map[string]any{"type": "apiKey", "in": "cookie", "name": "session"}}
	if diff := gocmp.Diff(scheme, components["securitySchemes"]); diff != "" {
		t.Errorf("security schemes (-want +got):\n%s", diff)
	}
	if diff := gocmp.Diff([]any{map[string]any{"host": []any{}}}, got["security"]); diff != "" {
		t.Errorf("security (-want +got):\n%s", diff)
	}
}

// document returns the document for an API in the folder of the document.
func document(t *testing.T, o docs.Options) []byte {
	t.Helper()
	_, text, err := docs.Document(o, "v1")
	if err != nil {
		t.Fatal(err)
	}
	return text
}

func decode(t *testing.T, text []byte) (decoded map[string]any) {
	t.Helper()
	if err := json.Unmarshal(text, &decoded); err != nil {
		t.Fatal(err)
	}
	return decoded
}

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
