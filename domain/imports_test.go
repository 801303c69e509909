package domain_test

import (
	"go/build"
	"io/fs"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"
)

const module = "example.com/petstore/"

// imports lists, for each package, the packages of the module that it may import. nil allows all.
var imports = map[string][]string{
	"cmd/petstore":                    {"cmd/petstore/internal/cli"},
	"cmd/petstore/internal/cli":       nil,
	"cmd/petstore/internal/serve":     nil,
	"cmd/petstore/internal/telemetry": {"config"},
	"domain":                          {},
	"domain/apikey":                   {"domain"},
	"domain/port":                     {"domain", "domain/apikey"},
	"usecase":                         {"domain", "domain/apikey", "domain/port"},
	"repository": {
		"domain", "repository/engine", "internal/batch", "internal/record", "repository/groupcommit",
		"repository/freshness", "repository/sqltrace", "domain/apikey", "domain/port",
	},
	"repository/engine":      {},
	"internal/batch":         {},
	"repository/groupcommit": {"repository/engine", "internal/batch"},
	"repository/freshness":   {"domain", "repository/engine", "internal/batch"},
	"repository/sqltrace":    {},
	"repository/folder":      {},
	"repository/sqlite": {
		"repository/engine", "repository/folder", "repository/sqlite/internal/schema",
		"repository/sqlite/internal/storefile",
	},
	"repository/sqlite/internal/storefile": {"repository/engine", "repository/folder"},
	"repository/sqlite/internal/schema":    {"repository/engine", "repository/schemaversion", "repository/sqlite/internal/storefile"},
	"repository/sqlite/backup": {
		"repository/engine", "repository/folder", "repository/sqlite", "repository/sqlite/internal/storefile",
		"repository/sqlite/internal/schema",
	},
	"repository/sqlite/internal/sqlitetest": {
		"domain", "internal/test/testkit", "repository", "repository/engine", "repository/sqlite", "repository/sqlite/backup",
		"repository/storetest",
	},
	"repository/postgres":              {"repository/engine", "repository/schemaversion"},
	"repository/schemaversion":         {"repository/engine"},
	"repository/storecopy":             {"repository/engine"},
	"repository/postgres/postgrestest": {},
	"repository/enginetest": {
		"repository/engine", "repository/sqlite", "repository/postgres", "repository/postgres/postgrestest", "repository/schemaversion",
	},
	"repository/storetest":      {"domain", "domain/apikey", "domain/port", "internal/test/testkit", "repository"},
	"internal/test/testkit":     {},
	"delivery/internal/binding": {"domain"},
	"internal/record":           {"domain"},
	"delivery/http/origin":      {},
	"delivery/http":             {"delivery/http/origin", "delivery/internal/binding", "internal/record", "domain", "domain/apikey"},
	"delivery/file":             {"delivery/internal/binding", "internal/record", "domain"},
	"delivery/http/server":      {"delivery/http", "domain"},
	"delivery/http/swagger":     {"delivery/http", "docs"},
	"docs":                      {},
	".": {
		"delivery/http", "docs", "domain", "repository", "repository/engine", "usecase", "domain/apikey",
		"domain/port",
	},
	"docs/generate": {"domain"},
	"config":        {"delivery/http/origin", "domain/apikey"},
}

// A package that is not listed could import anything.
func TestImportsFollowTheLayers(t *testing.T) {
	t.Parallel()
	found, root := 0, os.DirFS("..")
	err := fs.WalkDir(root, ".", func(folder string, entry fs.DirEntry, err error) error {
		if err != nil || !entry.IsDir() {
			return err
		}
		if name := entry.Name(); name == "testdata" || name == "bin" || strings.HasPrefix(name, ".") && folder != "." {
			return fs.SkipDir
		}
		if _, err := fs.Stat(root, folder+"/go.mod"); err == nil && folder != "." { // another module
			return fs.SkipDir
		}
		pkg, err := build.ImportDir("../"+folder, 0)
		if err != nil || len(pkg.GoFiles) == 0 {
			return nil //nolint:nilerr // a folder without Go files other than tests
		}
		found++
		checkImports(t, folder, pkg.Imports)
		return nil
	})
	if err != nil || found != len(imports) {
		t.Errorf("got %d packages and %v, want the %d of imports", found, err, len(imports))
	}
}

// ofTests matches packages for tests, driver matches database drivers, and engine matches the packages that
// may import drivers. No other package may import a driver, so that an embedder links only the drivers of
// the engines that it imports.
var (
	ofTests = regexp.MustCompile(`(^internal/test/|^repository/.*test$)`)
	driver  = regexp.MustCompile(`^(gorm\.io/driver/|.*sqlite|.*/pgx|.*lib/pq)`)
	engine  = regexp.MustCompile(`^repository/(sqlite|postgres)(/|$)`)
)

func checkImports(t *testing.T, name string, paths []string) {
	t.Helper()
	allowed, listed := imports[name]
	if !listed {
		t.Errorf("%s is not listed in imports", name)
	}
	for _, path := range paths {
		inModule, isOurs := strings.CutPrefix(path, module)
		switch {
		case isOurs && allowed != nil && !slices.Contains(allowed, inModule):
			t.Errorf("%s imports %s, want only %v", name, inModule, allowed)
		case ofTests.MatchString(inModule) && !ofTests.MatchString(name):
			t.Errorf("%s imports %s, which is for tests", name, inModule)
		case !isOurs && strings.HasPrefix(name, "domain") && strings.Contains(path, ".") && !strings.HasPrefix(path, "golang.org/x/text/"):
			t.Errorf("%s imports %s, which is neither in the standard library nor of Unicode", name, path)
		case !isOurs && driver.MatchString(path) && !engine.MatchString(name):
			t.Errorf("%s imports the driver %s", name, path)
		}
	}
}
