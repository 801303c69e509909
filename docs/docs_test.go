package docs_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
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

// readPage returns a page without its code blocks.
func readPage(t *testing.T, path string) string {
	t.Helper()
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return regexp.MustCompile("(?ms)^```.*?^```$").ReplaceAllString(string(text), "")
}

// headings returns the anchors of the headings of a page, as GitHub makes them.
func headings(page string) (anchors []string) {
	for _, heading := range regexp.MustCompile(`(?m)^#+ (.+)$`).FindAllStringSubmatch(page, -1) {
		anchor := regexp.MustCompile(`[^\p{L}\p{N} _-]`).ReplaceAllString(strings.ToLower(heading[1]), "")
		anchors = append(anchors, strings.ReplaceAll(anchor, " ", "-"))
	}
	return anchors
}

func TestLinksBetweenPagesLeadToFilesAndHeadings(t *testing.T) {
	t.Parallel()
	var pages []string
	for _, pattern := range []string{"*.md", "../*.md"} {
		found, _ := filepath.Glob(pattern) // both patterns are valid
		pages = append(pages, found...)
	}
	links := 0
	for _, page := range pages {
		for _, link := range regexp.MustCompile(`\]\(([^)]*)\)`).FindAllStringSubmatch(readPage(t, page), -1) {
			target, anchor, _ := strings.Cut(link[1], "#")
			if strings.Contains(target, "://") {
				continue
			}
			links++
			target = filepath.Join(filepath.Dir(page), target)
			if link[1][0] == '#' {
				target = page
			}
			if _, err := os.Stat(target); err != nil {
				t.Errorf("%s: %v", page, err)
			} else if anchor != "" && !slices.Contains(headings(readPage(t, target)), anchor) {
				t.Errorf("%s: %s has no heading #%s", page, target, anchor)
			}
		}
	}
	if len(pages) < 10 || links < 50 {
		t.Errorf("got %d links on %d pages, want at least 50 on 10", links, len(pages))
	}
}

func TestErrorPageHasTheCodesOfTheDocument(t *testing.T) {
	t.Parallel()
	text, err := os.ReadFile("openapi.json")
	if err != nil {
		t.Fatal(err)
	}
	schema := decode(t, text)
	for _, name := range []string{"components", "schemas", "Error", "properties", "code"} {
		schema = schema[name].(map[string]any)
	}
	statuses := map[string]string{} // of the codes that an operation returns
	for _, example := range regexp.MustCompile(`"code": "(\w+)",\s+"message": .*,\s+"status": (\d+)`).FindAllStringSubmatch(string(text), -1) {
		statuses[example[1]] = example[2]
	}
	var codes []any
	for _, row := range regexp.MustCompile("(?m)^\\| `(\\w+)` \\| (\\d+) \\| [^|]+ \\| [^|]+ \\|$").FindAllStringSubmatch(readPage(t, "errors.md"), -1) {
		codes = append(codes, row[1])
		if want, known := statuses[row[1]]; known && row[2] != want {
			t.Errorf("%s: got the status %s, want %s", row[1], row[2], want)
		}
	}
	if diff := gocmp.Diff(schema["x-extensible-enum"], any(codes)); diff != "" || len(statuses) < 15 {
		t.Errorf("codes of the document, %d with a status, and of the page (-want +got):\n%s", len(statuses), diff)
	}
}

// increase and rate ignore the first value of a counter, so a panel that shows the first
// request of a key adds the values of counters that did not exist before.
func TestGrafanaPanelsOfKeysShowTheFirstRequest(t *testing.T) {
	t.Parallel()
	file, err := os.ReadFile("grafana.json")
	if err != nil {
		t.Fatal(err)
	}
	var dashboard struct {
		Panels []struct{ Targets []struct{ Expr string } }
	}
	if err := json.Unmarshal(file, &dashboard); err != nil {
		t.Fatal(err)
	}
	for _, metric := range []string{"petstore_http_deprecated_requests_total", "petstore_http_rate_limited_requests_total"} {
		counter := "max_over_time\\(" + metric + `\{job=~"\$job"\}\[[^]]+\]`
		newCounters := regexp.MustCompile(counter + `\) unless ` + counter + ` offset [^)]+\)`)
		queries := 0
		for _, panel := range dashboard.Panels {
			for _, target := range panel.Targets {
				if !strings.Contains(target.Expr, metric) {
					continue
				}
				queries++
				if !newCounters.MatchString(target.Expr) {
					t.Errorf("no match for %s in the query %s", newCounters, target.Expr)
				}
			}
		}
		if queries == 0 {
			t.Errorf("no panel shows %s", metric)
		}
	}
}
