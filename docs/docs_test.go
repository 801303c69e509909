package docs_test

import (
	"bytes"
	"cmp"
	"encoding/json"
	"os"
	"slices"
	"testing"

	"github.com/getkin/kin-openapi/openapi3"
	gocmp "github.com/google/go-cmp/cmp"
	"go.yaml.in/yaml/v3"

	"example.com/petstore/docs"
	"example.com/petstore/internal/test/testkit"
)

func TestDocumentWithoutOptionsIsCommittedOneForThisServer(t *testing.T) {
	t.Parallel()
	committed, err := os.ReadFile("openapi.json")
	check(t, err)
	want, got := decode(t, committed), decode(t, document(t, docs.Options{}))
	want["servers"] = []any{map[string]any{"description": "This server", "url": "v1"}}
	if diff := gocmp.Diff(want, got); diff != "" {
		t.Errorf("document (-want +got):\n%s", diff)
	}
}

func TestDocumentHasServersOfDeployment(t *testing.T) {
	t.Parallel()
	const production, staging = "base_url=https://pets.example/<shop>", `staging_url=https://"staging".example`
	deployed := docs.Options{ProductionURL: "https://pets.example/<shop>/", StagingURL: `https://"staging".example`}
	for _, test := range []struct {
		options docs.Options
		address string
		want    []string
	}{
		{docs.Options{}, "v1", []string{"This server v1"}},
		{docs.Options{}, "../shop", []string{"This server ../shop"}},
		{
			docs.Options{StagingURL: "https://staging.example"},
			"v7",
			[]string{"This server v7", "Staging {staging_url}/v7 staging_url=https://staging.example"},
		},
		{deployed, "../v2", []string{"Production {base_url}/v2 " + production, "This server ../v2", "Staging {staging_url}/v2 " + staging}},
		{deployed, ".", []string{"Production {base_url} " + production, "This server .", "Staging {staging_url} " + staging}},
	} {
		_, text, err := docs.Document(test.options, test.address)
		check(t, err)
		var document struct {
			Servers []struct {
				Description, URL string
				Variables        map[string]struct{ Default string }
			}
		}
		check(t, json.Unmarshal(text, &document))
		var got []string
		for _, server := range document.Servers {
			text := server.Description + " " + server.URL
			for name, variable := range server.Variables {
				text += " " + name + "=" + variable.Default
			}
			got = append(got, text)
		}
		if diff := gocmp.Diff(test.want, got); diff != "" {
			t.Errorf("%s: servers (-want +got):\n%s", test.address, diff)
		}
	}
}

func TestYAMLIsTheSameDocument(t *testing.T) {
	t.Parallel()
	inJSON := document(t, docs.Options{Title: "Shop: 1 # 'quoted'", Description: "First line.\n\n- Second: line"})
	text, err := docs.YAML(inJSON)
	check(t, err)
	var got map[string]any
	check(t, yaml.Unmarshal(text, &got))
	again, err := json.Marshal(got) // numbers decoded from JSON and from YAML differ in type
	check(t, err)
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
	parts := map[string]any{"info": info, "securitySchemes": components["securitySchemes"], "security": got["security"]}
	want := map[string]any{
		"info": map[string]any{
			"title": "Shop <1>", "description": "Animals of the *shop*.", "contact": map[string]any{"name": "Ann", "email": "ann@shop.example"},
			"license": info["license"], "version": "1.0.0",
		},
		"securitySchemes": map[string]any{"host": map[string]any{"type": "apiKey", "in": "cookie", "name": "session"}},
		"security":        []any{map[string]any{"host": []any{}}},
	}
	if diff := gocmp.Diff(want, parts); diff != "" {
		t.Errorf("document (-want +got):\n%s", diff)
	}
}

func document(t *testing.T, o docs.Options) []byte {
	t.Helper()
	_, text, err := docs.Document(o, "v1")
	check(t, err)
	return text
}

func decode(t *testing.T, text []byte) (decoded map[string]any) {
	t.Helper()
	check(t, json.Unmarshal(text, &decoded))
	return decoded
}

// make lint runs oasdiff. It compares schemas and parameters, but does not report a missing response.
func TestDocumentHasEveryResponseOfTheContract(t *testing.T) {
	t.Parallel()
	contract, err := openapi3.NewLoader().LoadFromFile("contract.yaml")
	check(t, err)
	doc, err := openapi3.NewLoader().LoadFromData(document(t, docs.Options{}))
	check(t, err)
	responses := 0
	for path, item := range contract.Paths.Map() {
		for method, want := range item.Operations() {
			got := cmp.Or(doc.Paths.Value(path), &openapi3.PathItem{}).GetOperation(method)
			if got == nil || want.OperationID != "" && got.OperationID != want.OperationID || !slices.Equal(got.Tags, want.Tags) ||
				got.Deprecated != want.Deprecated {
				t.Errorf("%s %s: got the operation %+v, want %+v", method, path, got, want)
				continue
			}
			for status, response := range want.Responses.Map() {
				responses++
				documented := got.Responses.Value(status)
				if documented == nil {
					t.Errorf("%s %s has no response %s", method, path, status)
					continue
				}
				for media := range response.Value.Content {
					if documented.Value.Content[media] == nil {
						t.Errorf("%s %s: the response %s has no %s", method, path, status, media)
					}
				}
			}
		}
	}
	if responses < 10 {
		t.Errorf("the contract has only %d responses", responses)
	}
}

var check = testkit.Check
