package docs_test

import (
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	gocmp "github.com/google/go-cmp/cmp"
)

// readPage returns a page without its code blocks.
func readPage(t *testing.T, path string) string {
	t.Helper()
	text, err := os.ReadFile(path)
	check(t, err)
	return regexp.MustCompile("(?ms)^```.*?^```$").ReplaceAllString(string(text), "")
}

// headings returns the anchors of the headings of a page, as GitHub generates them.
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
	check(t, err)
	schema := decode(t, text)
	for _, name := range []string{"components", "schemas", "Error", "properties", "code"} {
		schema = schema[name].(map[string]any)
	}
	statuses := map[string]string{} // by code: the statuses that an operation returns
	for _, example := range regexp.MustCompile(`"code": "(\w+)",\s+"message": .*,\s+"status": (\d+)`).FindAllStringSubmatch(string(text), -1) {
		statuses[example[1]] = example[2]
	}
	var codes []any
	rows := regexp.MustCompile("(?m)^\\| `(\\w+)` \\| (\\d+) \\| [^|]+ \\| [^|]+ \\|$")
	for _, row := range rows.FindAllStringSubmatch(readPage(t, "errors.md"), -1) {
		codes = append(codes, row[1])
		if want, known := statuses[row[1]]; known && row[2] != want {
			t.Errorf("%s: got the status %s, want %s", row[1], row[2], want)
		}
	}
	if diff := gocmp.Diff(schema["x-extensible-enum"], any(codes)); diff != "" || len(statuses) < 15 {
		t.Errorf("codes of the document, %d with a status, and of the page (-want +got):\n%s", len(statuses), diff)
	}
}
