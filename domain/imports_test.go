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
	"internal/port":                   {"domain", "domain/apikey"},
	"usecase":                         {"domain", "domain/apikey", "internal/port"},
	"repository": {
		"domain", "internal/engine", "internal/batch", "internal/record", "internal/groupcommit",
		"internal/freshness", "internal/sqltrace", "domain/apikey", "internal/port",
	},
	"internal/engine":      {},
	"internal/batch":       {},
	"internal/groupcommit": {"internal/engine", "internal/batch"},
	"internal/freshness":   {"domain", "internal/engine", "internal/batch"},
	"internal/sqltrace":    {},
	"internal/folder":      {},
	"repository/sqlite": {
		"internal/engine", "internal/folder", "internal/sqlite/schema",
		"internal/sqlite/storefile",
	},
	"internal/sqlite/storefile": {"internal/engine", "internal/folder"},
	"internal/sqlite/schema":    {"internal/engine", "internal/schemaversion", "internal/sqlite/storefile"},
	"internal/sqlite/backup": {
		"internal/engine", "internal/folder", "repository/sqlite", "internal/sqlite/storefile",
		"internal/sqlite/schema",
	},
	"internal/test/sqlitetest": {
		"domain", "internal/test/testkit", "repository", "internal/engine", "repository/sqlite", "internal/sqlite/backup",
		"internal/test/storetest",
	},
	"repository/postgres":        {"internal/engine", "internal/schemaversion"},
	"internal/schemaversion":     {"internal/engine"},
	"internal/storecopy":         {"internal/engine"},
	"internal/test/postgrestest": {},
	"internal/test/enginetest": {
		"internal/engine", "repository/sqlite", "repository/postgres", "internal/test/postgrestest", "internal/schemaversion",
	},
	"internal/test/storetest": {"domain", "domain/apikey", "internal/port", "internal/test/testkit", "repository", "usecase"},
	"internal/test/testkit":   {},
	"internal/binding":        {"domain"},
	"internal/record":         {"domain"},
	"internal/origin":         {},
	"delivery/http":           {"internal/origin", "internal/binding", "internal/record", "domain", "domain/apikey"},
	"internal/file":           {"internal/binding", "internal/record", "domain"},
	"internal/server":         {"delivery/http", "domain"},
	"delivery/http/swagger":   {"delivery/http", "docs"},
	"docs":                    {},
	".": {
		"delivery/http", "docs", "domain", "repository", "internal/engine", "usecase", "domain/apikey",
		"internal/port",
	},
	"config": {"internal/origin", "domain/apikey"},
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
	ofTests = regexp.MustCompile(`^internal/test/`)
	driver  = regexp.MustCompile(`^(gorm\.io/driver/|.*sqlite|.*/pgx|.*lib/pq)`)
	engine  = regexp.MustCompile(`^(repository|internal)/(sqlite|postgres)(/|$)`)
)

// public are the packages that a host may import. config is public because the folder was there first; hosts have options.
var public = []string{
	".", "config", "delivery/http", "delivery/http/swagger", "docs", "domain", "domain/apikey", "repository", "repository/postgres",
	"repository/sqlite", "usecase",
}

func TestOnlyTheseFewPackagesArePublic(t *testing.T) {
	t.Parallel()
	var got []string
	for name := range imports {
		if !slices.Contains(strings.Split(name, "/"), "internal") && !strings.HasPrefix(name, "cmd/") {
			got = append(got, name)
		}
	}
	slices.Sort(got)
	if !slices.Equal(got, public) {
		t.Errorf("got the public packages %v, want %v", got, public)
	}
}

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
		case !isOurs && driver.MatchString(path) && !engine.MatchString(name) && !ofTests.MatchString(name):
			t.Errorf("%s imports the driver %s", name, path)
		}
	}
}
