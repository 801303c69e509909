package config

import (
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestAllProblemsAreReturnedAtOnce(t *testing.T) {
	path := writeConfig(t, `
server: {address: 8080, write_timeout: 5s}
databse: {dsn: other.db}
database: {driver: sqlite}
cors: {allowed_origins: ["https://shop.example.com/", "null"]}`)
	t.Setenv("PETSTORE_SERVER_ADDRESS", "localhost")
	t.Setenv("PETSTORE_LOG_LEVLE", "debug")
	t.Setenv("PETSTORE_DATABASE_MAX_OPEN_CONNS", "many")
	t.Setenv("PETSTORE_DATABASE_DSN", "postgres://pets:hunter2@db/pets")
	values, err := Explain(Options{File: path, Overrides: map[string]string{
		"log.format": "xml", "admin.port": "1", "server.trusted_proxies": "here,::1,there",
	}})
	const driver = "correct that, or leave the driver out, because it follows from the DSN"
	want := strings.NewReplacer("<file>", path, "DRIVER", driver, "ORIGIN", remedies["pageorigin"]).Replace(`the configuration is not valid:
  PETSTORE_LOG_LEVLE (environment): no such setting; did you mean PETSTORE_LOG_LEVEL?
  admin.port (command line): no such setting; petstore config lists all
  cors.allowed_origins = "https://shop.example.com/" (<file>): ORIGIN
  cors.allowed_origins = "null" (<file>): ORIGIN
  database.driver = "sqlite" (<file>): does not fit database.dsn = (hidden) (PETSTORE_DATABASE_DSN): DRIVER
  database.max_open_conns = "many" (PETSTORE_DATABASE_MAX_OPEN_CONNS): must be a whole number in plain digits
  databse.dsn (<file>): no such setting; did you mean database.dsn?
  log.format = "xml" (command line): must be console or json
  server.address = "localhost" (PETSTORE_SERVER_ADDRESS): ` + remedies["address"] + `
  server.trusted_proxies = "here" (command line): must be an IP address or a CIDR network, such as 10.0.0.0/8
  server.trusted_proxies = "there" (command line): must be an IP address or a CIDR network, such as 10.0.0.0/8
  server.write_timeout = "5s" (<file>): must be longer than server.request_timeout = "10s" (default)`)
	if diff := cmp.Diff(want, fmt.Sprint(err)); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
	var keys []string
	for _, value := range values {
		keys = append(keys, value.Key)
	}
	if diff := cmp.Diff(Keys(), keys); diff != "" {
		t.Errorf("the settings, in order (-want +got):\n%s", diff)
	}
	for _, want := range []Value{
		{"server.write_timeout", "(invalid)", path},
		{"log.format", "(invalid)", "command line"},
		{"log.level", "info", "default"},
		{"database.max_open_conns", "(invalid)", "PETSTORE_DATABASE_MAX_OPEN_CONNS"},
	} {
		if !slices.Contains(values, want) {
			t.Errorf("got %v, want %v among them", values, want)
		}
	}
}

func TestLoadAcceptsExplainedValues(t *testing.T) {
	t.Parallel()
	overrides := map[string]string{}
	for key, value := range explain(t, Options{}) {
		overrides[key] = value.Text
	}
	wantDefaults(t, Options{Overrides: overrides})
}

func TestErrorsAndExplanationsHideSecrets(t *testing.T) {
	const dsn = "postgres://pets:hunter2@db/pets"
	secret := write(t, filepath.Join(t.TempDir(), "dsn"), dsn)
	file := func(name, text string) Options {
		return Options{File: write(t, filepath.Join(t.TempDir(), name), text)}
	}
	set := func(key, text string) Options { return Options{Overrides: map[string]string{key: text}} }
	for name, test := range map[string]struct {
		environ string
		options Options
	}{
		"valid, file":          {"", file("a.yaml", "database: {dsn: '"+dsn+"'}")},
		"file, list":           {"", file("a.yaml", "database: {dsn: ['"+dsn+"']}")},
		"file, number":         {"", file("a.yaml", "database: {dsn: !!int '"+dsn+"'}")},
		"file, no mapping":     {"", file("a.yaml", dsn)},
		"TOML, no quotes":      {"", file("a.toml", "[database]\ndsn = "+dsn)},
		"JSON, no quotes":      {"", file("a.json", `{"database": {"dsn": `+dsn+"}}")},
		"valid, environment":   {"PETSTORE_DATABASE_DSN=" + dsn, Options{}},
		"valid, command line":  {"", set("database.dsn", dsn)},
		"valid, in file":       {"PETSTORE_DATABASE_DSN_FILE=" + secret, Options{}},
		"in place of a file":   {"PETSTORE_DATABASE_DSN_FILE=" + dsn, Options{}},
		"in a URL":             {"", set("server.production_url", "https://pets:hunter2@example.com")},
		"name of the file":     {"", Options{File: dsn}},
		"variable of the file": {"PETSTORE_CONFIG=" + dsn, Options{}},
		"no scheme":            {"", Options{File: "pets:hunter2@db/pets"}},
		"keywords as the name": {"", Options{File: "host=db password=hunter2"}},
		"in place of a key":    {"", set("postgres://pets:hunter2@db/pets?sslmode", "disable")},
		"keywords as a driver": {"", set("database.driver", "host=db password=hunter2")},
		"key in a file":        {"", file("a.json", `{"`+dsn+`": "x"}`)},
		"key in it twice":      {"", file("a.yaml", "'"+dsn+"': x\n'"+strings.ToUpper(dsn)+"': x")},
		"malformed key":        {"PETSTORE_AUTH_BOOTSTRAP_KEY=petstore_hunter2", Options{}},
		"in a list":            {"", set("server.trusted_proxies", "https://pets:hunter2@example.com")},
		"valid, in a file":     {"", file("a.yaml", "database: {driver: postgres, dsn: '"+dsn+"'}")},
		"valid, in its file":   {"PETSTORE_DATABASE_DSN_FILE=" + secret, set("database.driver", "postgres")},
	} {
		t.Run(name, func(t *testing.T) {
			if variable, value, ok := strings.Cut(test.environ, "="); ok {
				t.Setenv(variable, value)
			}
			values, err := Explain(test.options)
			if (err == nil) != strings.HasPrefix(name, "valid") {
				t.Fatalf("got %v", err)
			}
			if text := fmt.Sprint(err, values); strings.Contains(text, "hunter2") ||
				err == nil && !strings.Contains(text, "{database.dsn (hidden) ") {
				t.Errorf("the secret is in the error or in the values: %s", text)
			}
		})
	}
}

// The path of a SQLite file says which store a command uses.
func TestPathOfSQLiteFileIsNotHidden(t *testing.T) {
	values, err := Explain(Options{Overrides: map[string]string{"database.dsn": "/srv/shop.db"}})
	if err != nil || !slices.Contains(values, Value{"database.dsn", "/srv/shop.db", "command line"}) {
		t.Errorf("got %v and %v", values, err)
	}
	values, _ = Explain(Options{Overrides: map[string]string{"database.driver": "sqlite", "database.dsn": "host=db user=pets pwd=hunter2"}})
	if text := fmt.Sprint(values); strings.Contains(text, "hunter2") {
		t.Errorf("the DSN of another driver is not hidden: %s", text)
	}
}

// Unknown settings in a file are tested in TestFileMustBeAConfiguration.
func TestUnknownSettingsAreRejected(t *testing.T) {
	const list = "no such setting; petstore config lists all"
	for name, remedy := range map[string]string{
		"PETSTORE_SERVER_ADRESS":  "no such setting; did you mean PETSTORE_SERVER_ADDRESS?",
		"PETSTORE_log_level":      "no such setting; did you mean PETSTORE_LOG_LEVEL?",
		"PETSTORE_CONFG":          "no such setting; did you mean PETSTORE_CONFIG?",
		"PETSTORE_LOG":            list,
		"PETSTORE_LOG_LEVEL_FILE": list, // not a secret
		"LOG.LEVEL":               "no such setting; did you mean log.level?",
		"log.levelxyz":            "no such setting; did you mean log.level?",
		"log.levelwxyz":           list,
		"log":                     "a section, not a setting; name one of its settings, such as log.level",
		"my log level":            list,
		"":                        list,
	} {
		t.Run(name, func(t *testing.T) {
			if strings.HasPrefix(name, "PETSTORE_") {
				t.Setenv(name, "hunter2")
				checkProblems(t, Options{}, name+" (environment): "+remedy)
			} else {
				checkProblems(t, Options{Overrides: map[string]string{name: "hunter2"}},
					strings.Replace(name, "my log level", hidden, 1)+" (command line): "+remedy)
			}
		})
	}
}

func explain(t *testing.T, o Options) map[string]Value {
	t.Helper()
	values, err := Explain(o)
	check(t, err)
	byKey := map[string]Value{}
	for _, value := range values {
		byKey[value.Key] = value
	}
	return byKey
}
