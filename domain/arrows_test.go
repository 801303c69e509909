package domain_test

import (
	"go/build"
	"io/fs"
	"os"
	"slices"
	"strings"
	"testing"
)

const module = "example.com/petstore/"

// arrows are the packages of the module that each one may import. cmd may import
// everything and is left out.
var arrows = map[string][]string{
	"domain":                {},
	"usecase":               {"domain"},
	"repository":            {"domain"},
	"repository/storetest":  {"domain"},
	"delivery/http":         {"domain"},
	"delivery/http/swagger": {},
	"docs":                  {},
	"docs/generate":         {},
	"config":                {},
}

func TestImportsFollowTheArrows(t *testing.T) {
	t.Parallel()
	for name, allowed := range arrows {
		pkg, err := build.ImportDir("../"+name, 0)
		if err != nil {
			t.Fatal(err)
		}
		for _, path := range pkg.Imports {
			inside, ours := strings.CutPrefix(path, module)
			if ours && !slices.Contains(allowed, inside) {
				t.Errorf("%s imports %s", name, inside)
			}
			if !ours && name == "domain" && strings.Contains(path, ".") {
				t.Errorf("domain imports %s, which is not of the standard library", path)
			}
		}
	}
}

// A package that the list forgets could import anything.
func TestEveryPackageHasItsArrows(t *testing.T) {
	t.Parallel()
	found := packages(t)
	if len(found) < 5 {
		t.Fatalf("found only the packages %v", found)
	}
	for _, name := range found {
		if _, listed := arrows[name]; !listed && !strings.HasPrefix(name, "cmd/") {
			t.Errorf("%s is not listed in arrows", name)
		}
	}
}

// packages are the folders of the module that hold Go files beside tests.
func packages(t *testing.T) []string {
	t.Helper()
	var found []string
	root := os.DirFS("..")
	err := fs.WalkDir(root, ".", func(path string, entry fs.DirEntry, err error) error {
		if err != nil || !entry.IsDir() {
			return err
		}
		if name := entry.Name(); name == "testdata" || strings.HasPrefix(name, ".") && path != "." {
			return fs.SkipDir
		}
		if pkg, err := build.ImportDir("../"+path, 0); err == nil && len(pkg.GoFiles) > 0 {
			found = append(found, path)
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return found
}
