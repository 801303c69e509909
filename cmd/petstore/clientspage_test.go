package main

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// clients is where the programs stand that use generated clients.
const clients = "testdata/clients"

// TestClientsPageShowsTestedCode finds every piece of code on docs/clients.md in
// the programs that make every call.
func TestClientsPageShowsTestedCode(t *testing.T) {
	t.Parallel()
	for language, files := range map[string][]string{
		"go":     {"go/store.go", "go/petstore/error.go"},
		"ts":     {"ts/store.ts"},
		"python": {"python/store.py"},
	} {
		code := "\n"
		for _, file := range files {
			code += read(t, filepath.Join(clients, file))
		}
		for _, block := range blocks(t, language) {
			if !strings.Contains(code, "\n"+block) {
				t.Errorf("this is not in %s:\n%s", files, block)
			}
		}
	}
}

// blocks are what docs/clients.md shows in a language. The page has some of each.
func blocks(t *testing.T, language string) (found []string) {
	t.Helper()
	fenced := regexp.MustCompile("(?s)```" + language + "\n(.*?)```")
	for _, match := range fenced.FindAllStringSubmatch(read(t, "../../docs/clients.md"), -1) {
		found = append(found, match[1])
	}
	if len(found) == 0 {
		t.Fatalf("docs/clients.md shows nothing in %s", language)
	}
	return found
}

func read(t *testing.T, path string) string {
	t.Helper()
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}
