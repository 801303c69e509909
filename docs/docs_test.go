package docs_test

import (
	"bytes"
	"encoding/json"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

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
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("document (-want +got):\n%s", diff)
	}
}

func TestDocumentReturnsNewHeadAndTheSameTailAtEachCall(t *testing.T) {
	t.Parallel()
	documentFor, err := docs.Document(docs.Options{})
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

func TestDocumentHasServersOfDeployment(t *testing.T) {
	t.Parallel()
	const requested = "https://requested.example/shop"
	for name, test := range map[string]struct {
		options docs.Options
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
			options: docs.Options{APIPath: "/"},
			baseURL: requested,
			want:    map[string]string{"This server: {base_url} base_url": requested},
		},
		"API under another path": {
			options: docs.Options{APIPath: "/v7/", StagingURL: "https://staging.example"},
			baseURL: requested,
			want: map[string]string{
				"This server: {base_url}/v7 base_url":   requested,
				"Staging: {staging_url}/v7 staging_url": "https://staging.example",
			},
		},
		"API beside the document": {
			options: docs.Options{APIPath: "../v1"},
			baseURL: "https://requested.example/shop/docs",
			want:    map[string]string{"This server: {base_url}/v1 base_url ..": requested},
		},
		"API in a folder above the document": {
			options: docs.Options{APIPath: "../../shop/"},
			baseURL: "https://requested.example/site/%22docs%22",
			want:    map[string]string{"This server: {base_url}/shop base_url ../..": "https://requested.example"},
		},
		"API on the group above the document": {
			options: docs.Options{APIPath: ".."},
			baseURL: requested + "/docs",
			want:    map[string]string{"This server: {base_url} base_url ..": requested},
		},
		"API beside the document, and no URL": {
			options: docs.Options{APIPath: "../v1"},
			want:    map[string]string{"This server: {base_url}/v1 base_url ..": "http://127.0.0.1:8080"},
		},
		"API beside the document, and URLs of the options": {
			options: docs.Options{APIPath: "../v2", ProductionURL: "https://pets.example/shop", StagingURL: "https://staging.example"},
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
		documentFor, err := docs.Document(test.options)
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
		if diff := cmp.Diff(test.want, servers); diff != "" {
			t.Errorf("%s: servers (-want +got):\n%s", name, diff)
		}
	}
}

func TestDocumentRejectsAPIPathWithoutSlash(t *testing.T) {
	t.Parallel()
	for _, path := range []string{"v7", "..v7", "./v7", ".", "https://pets.example/v1"} {
		if _, err := docs.Document(docs.Options{APIPath: path}); err == nil {
			t.Errorf("%s: got no error", path)
		}
	}
}

func TestSunsetReplacesEveryPublishedOne(t *testing.T) {
	t.Parallel()
	berlin := time.FixedZone("CET", 3600)
	got := string(document(t, docs.Options{Sunset: time.Date(2031, time.March, 1, 0, 30, 0, 0, berlin)}))
	for _, want := range []string{"28 February 2031", "2031-02-28", "Fri, 28 Feb 2031 23:30:00 GMT"} {
		if !strings.Contains(got, want) {
			t.Errorf("the document does not contain %s", want)
		}
	}
	if strings.Contains(got, "2030") {
		t.Error("the document contains the published date")
	}
}

// document returns the document for an unknown URL.
func document(t *testing.T, o docs.Options) []byte {
	t.Helper()
	documentFor, err := docs.Document(o)
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
