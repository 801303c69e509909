package docs_test

import (
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"os"
	"slices"
	"strings"
	"testing"

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
	want["servers"] = want["servers"].([]any)[:1]
	want["servers"].([]any)[0].(map[string]any)["description"] = "This server"
	if diff := gocmp.Diff(want, got); diff != "" {
		t.Errorf("document (-want +got):\n%s", diff)
	}
}

func TestDocumentReturnsNewHeadAndTheSameTailAtEachCall(t *testing.T) {
	t.Parallel()
	documentFor, err := docs.Document(docs.Options{}, "", "v1")
	if err != nil {
		t.Fatal(err)
	}
	head, tail := documentFor("https://pets.example")
	head[0] = 'x'
	otherHead, otherTail := documentFor("https://pets.example")
	if bytes.Equal(head, otherHead) {
		t.Error("a change of one head changed the next")
	}
	if &tail[0] != &otherTail[0] || len(tail) < 10*len(head) {
		t.Errorf("got two tails, or one of %d bytes after %d", len(tail), len(head))
	}
}

func TestYAMLIsTheSameDocument(t *testing.T) {
	t.Parallel()
	for _, baseURL := range []string{"", "https://requested.example/shop", `https://"requested".example/: #`} {
		o := docs.Options{Title: "Shop: 1 # 'quoted'", Description: "First line.\n\n- Second: line", StagingURL: "https://staging.example"}
		inJSON, jsonErr := docs.Document(o, "..", "v1")
		inYAML, yamlErr := docs.YAML(o, "..", "v1")
		if err := errors.Join(jsonErr, yamlErr); err != nil {
			t.Fatal(err)
		}
		text := slices.Concat(inYAML(baseURL))
		var got map[string]any
		if err := yaml.Unmarshal(text, &got); err != nil {
			t.Fatal(err)
		}
		again, err := json.Marshal(got) // which has the types of JSON for numbers
		if err != nil {
			t.Fatal(err)
		}
		if diff := gocmp.Diff(decode(t, slices.Concat(inJSON(baseURL))), decode(t, again)); diff != "" {
			t.Errorf("%q: (-JSON +YAML):\n%s", baseURL, diff)
		}
		if !bytes.HasPrefix(text, []byte("openapi: 3.0.3\ninfo:\n")) || bytes.Contains(text, []byte(`{"`)) {
			t.Errorf("the YAML is not in block style, or not in the order of the JSON:\n%.200s", text)
		}
	}
}

func TestDocumentHasServersOfDeployment(t *testing.T) {
	t.Parallel()
	const requested = "https://requested.example/shop"
	for name, test := range map[string]struct {
		options docs.Options
		folder  string
		name    string // v1 if empty, none if /
		baseURL string
		want    map[string]string
	}{
		"no URL": {
			want: map[string]string{"This server: {base_url}/v1 base_url": "http://127.0.0.1:8080"},
		},
		"URL of the request": {
			baseURL: requested,
			want:    map[string]string{"This server: {base_url}/v1 base_url": requested},
		},
		"URL of the request with a quote": {
			baseURL: `https://"requested".example`,
			want:    map[string]string{"This server: {base_url}/v1 base_url": `https://"requested".example`},
		},
		"API on the group of the document": {
			name:    "/",
			baseURL: requested,
			want:    map[string]string{"This server: {base_url} base_url": requested},
		},
		"API under another path": {
			options: docs.Options{StagingURL: "https://staging.example"}, name: "v7",
			baseURL: requested,
			want: map[string]string{
				"This server: {base_url}/v7 base_url":   requested,
				"Staging: {staging_url}/v7 staging_url": "https://staging.example",
			},
		},
		"API beside the document": {
			folder:  "..",
			baseURL: "https://requested.example/shop/docs",
			want:    map[string]string{"This server: {base_url}/v1 base_url ..": requested},
		},
		"API in a folder above the document": {
			folder: "../..", name: "shop",
			baseURL: "https://requested.example/site/%22docs%22",
			want:    map[string]string{"This server: {base_url}/shop base_url ../..": "https://requested.example"},
		},
		"API on the group above the document": {
			folder: "..", name: "/",
			baseURL: requested + "/docs",
			want:    map[string]string{"This server: {base_url} base_url ..": requested},
		},
		"API beside the document, and no URL": {
			folder: "..",
			want:   map[string]string{"This server: {base_url}/v1 base_url ..": "http://127.0.0.1:8080"},
		},
		"API beside the document, and URLs of the options": {
			options: docs.Options{ProductionURL: "https://pets.example/shop", StagingURL: "https://staging.example"}, folder: "..", name: "v2",
			baseURL: "https://requested.example/shop/docs",
			want: map[string]string{
				"Production: {base_url}/v2 base_url ..": "https://pets.example/shop",
				"Staging: {staging_url}/v2 staging_url": "https://staging.example",
			},
		},
		"URLs of the options": {
			options: docs.Options{ProductionURL: "https://pets.example/<shop>/", StagingURL: `https://"staging".example/`},
			baseURL: requested,
			want: map[string]string{
				"Production: {base_url}/v1 base_url":    "https://pets.example/<shop>",
				"Staging: {staging_url}/v1 staging_url": `https://"staging".example`,
			},
		},
	} {
		documentFor, err := docs.Document(test.options, test.folder, strings.TrimSuffix(cmp.Or(test.name, "v1"), "/"))
		if err != nil {
			t.Fatal(err)
		}
		var d struct {
			Servers []struct {
				Description, URL string
				Variables        map[string]struct {
					Default     string
					RelativeURL string `json:"x-relative-url"`
				}
			}
		}
		if err := json.Unmarshal(slices.Concat(documentFor(test.baseURL)), &d); err != nil {
			t.Fatal(err)
		}
		servers := map[string]string{}
		for _, s := range d.Servers {
			for name, v := range s.Variables {
				servers[strings.TrimSpace(s.Description+": "+s.URL+" "+name+" "+v.RelativeURL)] = v.Default
			}
		}
		if diff := gocmp.Diff(test.want, servers); diff != "" {
			t.Errorf("%s: servers (-want +got):\n%s", name, diff)
		}
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

// document returns the document for an unknown URL.
func document(t *testing.T, o docs.Options) []byte {
	t.Helper()
	documentFor, err := docs.Document(o, "", "v1")
	if err != nil {
		t.Fatal(err)
	}
	return slices.Concat(documentFor(""))
}

func decode(t *testing.T, text []byte) (decoded map[string]any) {
	t.Helper()
	if err := json.Unmarshal(text, &decoded); err != nil {
		t.Fatal(err)
	}
	return decoded
}
