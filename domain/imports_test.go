package domain_test

import (
	"go/build"
	"io/fs"
	"os"
	"slices"
	"strings"
	"testing"
)

// engines are the packages that may import a database driver, so that an embedder links
// only the engines that it imports. cmd/bench imports drivers for its reference servers.
var engines = []string{"repository/sqlite", schema, storefile, backup, "repository/postgres", postgresTest}

const (
	postgresTest = "repository/postgres/postgrestest" // starts servers for tests and cmd/bench
	engineTest   = "repository/enginetest"            // creates databases for tests

	schema     = "repository/sqlite/internal/schema"
	storefile  = "repository/sqlite/internal/storefile"
	sqliteTest = "repository/sqlite/internal/sqlitetest" // helpers of tests
	backup     = "repository/sqlite/backup"

	apikey = "domain/apikey"
	port   = "domain/port" // what use cases need of a store

	binding = "delivery/internal/binding" // of requests and of rows in files
	record  = "delivery/internal/record"

	module = "example.com/petstore/"
	cmd    = "cmd/petstore/internal/"
)

// imports lists the packages of the module that each package may import; nil allows all.
var imports = map[string][]string{
	"cmd/petstore":           {"cmd/petstore/internal/cli"},
	cmd + "cli":              nil,
	cmd + "serve":            nil,
	cmd + "telemetry":        {"config"},
	"domain":                 {},
	apikey:                   {"domain"},
	port:                     {"domain", apikey},
	"usecase":                {"domain", apikey, port},
	"repository":             {"domain", "repository/engine", "repository/sharedquery", "repository/groupcommit", "repository/freshness", "repository/sqltrace", apikey, port},
	"repository/engine":      {},
	"repository/groupcommit": {"repository/engine"},
	"repository/freshness":   {"repository/engine", "repository/sharedquery"},
	"repository/sharedquery": {},
	"repository/sqltrace":    {},
	"repository/folder":      {},
	"repository/sqlite":      {"repository/engine", schema, storefile},
	storefile:                {"repository/engine", "repository/folder"},
	schema:                   {"repository/engine", storefile},
	backup:                   {"repository/engine", "repository/folder", "repository/sqlite", storefile, schema},
	sqliteTest:               {"domain", "repository", "repository/engine", "repository/sqlite", "repository/storetest", backup},
	"repository/postgres":    {"repository/engine"},
	"repository/storecopy":   {"repository/engine"},
	postgresTest:             {},
	engineTest:               {"repository/engine", "repository/sqlite", "repository/postgres", postgresTest},
	"repository/storetest":   {"domain", apikey, port},
	binding:                  {"domain"},
	record:                   {binding, "domain"},
	"delivery/http":          {binding, record, "domain", apikey},
	"delivery/file":          {record, "domain"},
	"delivery/http/server":   {"delivery/http", "domain"},
	"delivery/http/swagger":  {"delivery/http", "docs"},
	"docs":                   {},
	".":                      {"delivery/http", "docs", "domain", "repository", "repository/engine", "usecase", apikey, port},
	"docs/generate":          {"domain"},
	"config":                 {"domain", apikey},
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

func checkImports(t *testing.T, name string, paths []string) {
	t.Helper()
	allowed, listed := imports[name]
	if !listed {
		t.Errorf("%s is not listed in imports", name)
	}
	for _, path := range paths {
		inModule, isOurs := strings.CutPrefix(path, module)
		if isOurs && allowed != nil && !slices.Contains(allowed, inModule) {
			t.Errorf("%s imports %s, want only %v", name, inModule, allowed)
		}
		if !isOurs && name == "domain" && strings.Contains(path, ".") {
			t.Errorf("domain imports %s, which is not in the standard library", path)
		}
		if name != engineTest && slices.Contains([]string{postgresTest, engineTest, sqliteTest}, inModule) {
			t.Errorf("%s imports %s, which is for tests", name, inModule)
		}
		if isDriver(path) && !slices.Contains(engines, name) {
			t.Errorf("%s imports the driver %s", name, path)
		}
	}
}

// isDriver reports whether a package is a database driver.
func isDriver(path string) bool {
	for _, name := range []string{"gorm.io/driver/", "sqlite", "/pgx", "lib/pq"} {
		if strings.Contains(path, name) && !strings.HasPrefix(path, module) {
			return true
		}
	}
	return false
}
