package clients

import (
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"example.com/petstore/test/harness"
)

// clientsDir contains the programs that use generated clients.
const clientsDir = "testdata/clients"

// TestClientsDocumentShowsTestedCode expects that every code block of docs/clients.md is
// part of a program of testdata/clients.
func TestClientsDocumentShowsTestedCode(t *testing.T) {
	t.Parallel()
	for language, files := range map[string][]string{
		"go":     {"go/store.go", "go/petstore/error.go"},
		"ts":     {"ts/store.ts"},
		"python": {"python/store.py"},
	} {
		code := "\n"
		for _, file := range files {
			code += harness.ReadFile(t, filepath.Join(clientsDir, file))
		}
		for _, block := range codeBlocks(t, language) {
			if !strings.Contains(code, "\n"+block) {
				t.Errorf("%s do not contain:\n%s", files, block)
			}
		}
	}
}

// codeBlocks returns the code blocks of docs/clients.md in a language. It fails the test if
// there are none.
func codeBlocks(t *testing.T, language string) (found []string) {
	t.Helper()
	fenced := regexp.MustCompile("(?s)```" + language + "\n(.*?)```")
	for _, match := range fenced.FindAllStringSubmatch(harness.ReadFile(t, "../../docs/clients.md"), -1) {
		found = append(found, match[1])
	}
	if len(found) == 0 {
		t.Fatalf("docs/clients.md has no code block in %s", language)
	}
	return found
}
