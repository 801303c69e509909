package config

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"go.yaml.in/yaml/v3"
)

func TestExampleFileDescribesEverySettingInOrder(t *testing.T) {
	t.Parallel()
	text, err := os.ReadFile("petstore.example.yaml")
	if err != nil {
		t.Fatal(err)
	}
	var document yaml.Node
	if err := yaml.Unmarshal(text, &document); err != nil {
		t.Fatal(err)
	}
	var got []string
	for section := range slices.Chunk(document.Content[0].Content, 2) {
		commented := 0 // the last line that belongs to a comment: no blank line precedes it
		for pair := range slices.Chunk(section[1].Content, 2) {
			key := section[0].Value + "." + pair[0].Value
			got = append(got, key)
			if pair[0].HeadComment == "" && pair[0].Line != commented+1 {
				t.Errorf("%s has no comment", key)
			}
			commented = pair[0].Line
		}
	}
	if diff := cmp.Diff(Keys(), got); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
}

func defaults() (c Config) {
	c.Server = Server{
		Address:           "127.0.0.1:8080",
		ReadHeaderTimeout: 5 * time.Second,
		ReadTimeout:       15 * time.Second,
		WriteTimeout:      30 * time.Second,
		IdleTimeout:       2 * time.Minute,
		RequestTimeout:    10 * time.Second,
		ShutdownTimeout:   20 * time.Second,
	}
	c.Admin.Address = "127.0.0.1:9090"
	c.Database = Database{Driver: "sqlite", DSN: "petstore.db", MaxOpenConns: 4, Migrate: true}
	c.Cache.MaxBytes = 16 << 20
	c.Changes.Retention, c.Changes.StreamsPerKey = 7*24*time.Hour, 10
	c.RateLimit.Window = time.Minute
	c.Docs.Enabled = true
	c.Log = Log{Level: "info", Format: "json"}
	return c
}

func TestMain(m *testing.M) {
	for _, entry := range os.Environ() { // the settings of the caller
		if name, _, _ := strings.Cut(entry, "="); strings.HasPrefix(name, "PETSTORE_") {
			_ = os.Unsetenv(name) // fails only for an invalid name
		}
	}
	os.Exit(m.Run())
}

func checkProblems(t *testing.T, options Options, want ...string) {
	t.Helper()
	_, err := Load(options)
	invalid, ok := errors.AsType[*InvalidError](err)
	if !ok {
		t.Fatalf("got %v, want an InvalidError", err)
	}
	if diff := cmp.Diff(want, invalid.Problems); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
}

func wantDefaults(t *testing.T, o Options) {
	t.Helper()
	got, err := Load(o)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(defaults(), got, cmpopts.EquateEmpty()); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
}

func writeConfig(t *testing.T, text string) string {
	t.Helper()
	return write(t, filepath.Join(t.TempDir(), "petstore.yaml"), text)
}

func write(t *testing.T, path, text string) string {
	t.Helper()
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

func TestLoadReturnsAllProblemsAtOnce(t *testing.T) {
	path := writeConfig(t, "server: {address: 8080, write_timeout: 5s}\ndatabse: {dsn: other.db}\ncors: {allowed_origins: [\"https://shop.example.com/\", \"*\"]}")
	t.Setenv("PETSTORE_SERVER_ADDRESS", "localhost")
	t.Setenv("PETSTORE_LOG_LEVLE", "debug")
	t.Setenv("PETSTORE_DATABASE_MAX_OPEN_CONNS", "many")
	t.Setenv("PETSTORE_DATABASE_DSN", "postgres://pets:hunter2@db/pets")
	_, err := Load(Options{File: path, Overrides: map[string]string{"log.format": "xml", "admin.port": "1", "server.trusted_proxies": "here,::1,there"}})
	want := strings.ReplaceAll(`the configuration is not valid:
  PETSTORE_LOG_LEVLE (environment): no such setting; did you mean PETSTORE_LOG_LEVEL?
  admin.port (command line): no such setting; petstore config lists all
  cors.allowed_origins = "*" (<file>): must be the origin of a page as a browser sends it, such as https://shop.example.com or http://localhost:3000
  cors.allowed_origins = "https://shop.example.com/" (<file>): must be the origin of a page as a browser sends it, such as https://shop.example.com or http://localhost:3000
  database.dsn = (hidden) (PETSTORE_DATABASE_DSN): must be the connection string of a PostgreSQL database, such as postgres://user@host:5432/database, or the path of a SQLite file, such as petstore.db, as database.driver requires
  database.max_open_conns = "many" (PETSTORE_DATABASE_MAX_OPEN_CONNS): must be a whole number in plain digits
  databse.dsn (<file>): no such setting; did you mean database.dsn?
  log.format = "xml" (command line): must be console or json
  server.address = "localhost" (PETSTORE_SERVER_ADDRESS): must be host:port with a port from 0 to 65535, such as 127.0.0.1:8080
  server.trusted_proxies = "here" (command line): must be an IP address or a CIDR network, such as 10.0.0.0/8
  server.trusted_proxies = "there" (command line): must be an IP address or a CIDR network, such as 10.0.0.0/8
  server.write_timeout = "5s" (<file>): must be longer than server.request_timeout`, "<file>", path)
	if diff := cmp.Diff(want, err.Error()); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
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

func TestExplainReturnsValuesWithProblems(t *testing.T) {
	t.Parallel()
	path := writeConfig(t, "server: {read_timeout: 10}")
	values, err := Explain(Options{File: path, Overrides: map[string]string{"log.level": "loud", "no.such": "x"}})
	if invalid, ok := errors.AsType[*InvalidError](err); !ok || len(invalid.Problems) != 3 {
		t.Errorf("got %v, want three problems", err)
	}
	var keys []string
	for _, value := range values {
		keys = append(keys, value.Key)
	}
	if diff := cmp.Diff(Keys(), keys); diff != "" {
		t.Errorf("the settings, in order (-want +got):\n%s", diff)
	}
	for _, want := range []Value{
		{"server.read_timeout", "(invalid)", path}, {"log.level", "(invalid)", "command line"}, {"log.format", "json", "default"},
	} {
		if !slices.Contains(values, want) {
			t.Errorf("got %v, want %v among them", values, want)
		}
	}
}

func TestErrorsAndExplanationsHideSecrets(t *testing.T) {
	const dsn = "postgres://pets:hunter2@db/pets"
	secret := write(t, filepath.Join(t.TempDir(), "dsn"), dsn)
	file := func(name, text string) Options {
		return Options{File: write(t, filepath.Join(t.TempDir(), name), text)}
	}
	set := func(key, text string) Options { return Options{Overrides: map[string]string{key: text}} }
	postgres := set("database.driver", "postgres")
	for name, test := range map[string]struct {
		environ string
		options Options
	}{
		"file":                 {"", file("a.yaml", "database: {dsn: '"+dsn+"'}")},
		"file, list":           {"", file("a.yaml", "database: {dsn: ['"+dsn+"']}")},
		"file, number":         {"", file("a.yaml", "database: {dsn: !!int '"+dsn+"'}")},
		"file, no mapping":     {"", file("a.yaml", dsn)},
		"file, unknown key":    {"", file("a.yaml", "database: {password: hunter2}")},
		"TOML, no quotes":      {"", file("a.toml", "[database]\ndsn = "+dsn)},
		"JSON, no quotes":      {"", file("a.json", `{"database": {"dsn": `+dsn+"}}")},
		"environment":          {"PETSTORE_DATABASE_DSN=" + dsn, Options{}},
		"environment, unknown": {"PETSTORE_DATABASE_PASSWORD=hunter2", Options{}},
		"command line":         {"", set("database.dsn", dsn)},
		"in file":              {"PETSTORE_DATABASE_DSN_FILE=" + secret, Options{}},
		"in place of a file":   {"PETSTORE_DATABASE_DSN_FILE=" + dsn, Options{}},
		"in a URL":             {"", set("server.production_url", "https://pets:hunter2@example.com")},
		"after a blank":        {"PETSTORE_DATABASE_DSN= " + dsn, postgres},
		"keywords":             {"", set("database.dsn", " Host=db password=hunter2")},
		"name of the file":     {"", Options{File: dsn}},
		"variable of the file": {"PETSTORE_CONFIG=" + dsn, Options{}},
		"no scheme":            {"", Options{File: "pets:hunter2@db/pets"}},
		"keywords as the name": {"", Options{File: "host=db password=hunter2"}},
		"malformed key":        {"PETSTORE_AUTH_BOOTSTRAP_KEY=petstore_hunter2", Options{}},
		"in another setting":   {"", set("server.tls_key_file", "https://pets:hunter2@example.com")},
		"in a list":            {"", set("server.trusted_proxies", "https://pets:hunter2@example.com")},
		"valid, in a file":     {"", file("a.yaml", "database: {driver: postgres, dsn: '"+dsn+"'}")},
		"valid, environment":   {"PETSTORE_DATABASE_DSN=" + dsn, postgres},
		"valid, in its file":   {"PETSTORE_DATABASE_DSN_FILE=" + secret, postgres},
		"valid, command line":  {"", Options{Overrides: map[string]string{"database.driver": "postgres", "database.dsn": dsn}}},
	} {
		t.Run(name, func(t *testing.T) {
			if variable, value, ok := strings.Cut(test.environ, "="); ok {
				t.Setenv(variable, value)
			}
			_, err := Load(test.options)
			if (err == nil) != strings.HasPrefix(name, "valid") {
				t.Fatalf("got %v", err)
			}
			values, _ := Explain(test.options)
			if text := fmt.Sprint(err, values); strings.Contains(text, "hunter2") || err == nil && !strings.Contains(text, "{database.dsn (hidden) ") {
				t.Errorf("the secret is in the error or in the values: %s", text)
			}
		})
	}
}

func TestUnknownSettingsAreRejected(t *testing.T) {
	const list = "petstore config lists all"
	for _, test := range []struct{ source, text, unknown, remedy string }{
		{"environment", "PETSTORE_SERVER_ADRESS", "", "did you mean PETSTORE_SERVER_ADDRESS?"},
		{"environment", "PETSTORE_log_level", "", "did you mean PETSTORE_LOG_LEVEL?"},
		{"environment", "PETSTORE_DB_DSN", "", list},
		{"environment", "PETSTORE_LOG", "", list},
		{"environment", "PETSTORE_LOG_LEVEL_FILE", "", list}, // not a secret
		{"environment", "PETSTORE_CONFG", "", "did you mean PETSTORE_CONFIG?"},
		{"command line", "LOG.LEVEL", "", "did you mean log.level?"},
		{"command line", "database.dns", "", "did you mean database.dsn?"},
		{"command line", "log", "", list},
		{"command line", "log.level.x", "", "did you mean log.level?"},
		{"command line", "log.levelxyz", "", "did you mean log.level?"},
		{"command line", "log.levelwxyz", "", list},
		{"command line", "", "", list},
		{"file", "server: {adress: x}", "server.adress", "did you mean server.address?"},
		{"file", "databse: {dsn: x}", "databse.dsn", "did you mean database.dsn?"},
		{"file", "cors: {allowed_origin: x}", "cors.allowed_origin", "did you mean cors.allowed_origins?"},
		{"file", "log: {output: x}", "log.output", list},
		{"file", "metrics: {port: x}", "metrics.port", list},
		{"file", "level: x", "level", list},
		{"file", "log: info", "log", list},
		{"file", "log: {log: {level: warn}}", "log.log.level", list},
		{"file", "log:\n  \"a\\nb\": warn", `log.a\nb`, list},
	} {
		t.Run(test.text, func(t *testing.T) {
			options, unknown := Options{}, test.text
			switch test.source {
			case "environment":
				t.Setenv(test.text, "hunter2")
			case "command line":
				options.Overrides = map[string]string{test.text: "hunter2"}
			default:
				options.File, unknown = writeConfig(t, test.text), test.unknown
				test.source = options.File
			}
			checkProblems(t, options, unknown+" ("+test.source+"): no such setting; "+test.remedy)
		})
	}
}

func explain(t *testing.T, o Options) map[string]Value {
	t.Helper()
	values, err := Explain(o)
	if err != nil {
		t.Fatal(err)
	}
	byKey := map[string]Value{}
	for _, value := range values {
		byKey[value.Key] = value
	}
	return byKey
}
