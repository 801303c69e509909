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

	"example.com/petstore/domain/apikey"
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

// checkProblems compares the problems that Load returns with want.
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

// wantDefaults expects Load to return the defaults of all settings.
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

// writeConfig writes a YAML file and returns its path.
func writeConfig(t *testing.T, text string) string {
	t.Helper()
	return write(t, filepath.Join(t.TempDir(), "petstore.yaml"), text)
}

// write writes a file and returns its path.
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

func TestInvalidValuesAreRejected(t *testing.T) {
	t.Parallel()
	const number, longer = "must be from 1 to 1000", "must be longer than 0s"
	key := apikey.Generate()
	for _, test := range []struct {
		key    string
		remedy string
		bad    []string
	}{
		{"server.address", remedies["hostport"], []string{
			"", "8080", "127.0.0.1", "127.0.0.1:", ":http", ":-1", ":+1", ":65536", "::1:8080", "http://a:80",
		}},
		{"admin.address", "must be empty or host:port with a port from 0 to 65535, such as 127.0.0.1:9090", []string{"9090", ":65536", " "}},
		{"server.read_header_timeout", longer, []string{"0s", "-1s"}},
		{"server.read_timeout", longer, []string{"0s", "-1s"}},
		{"server.write_timeout", longer, []string{"0s", "-1s"}},
		{"server.idle_timeout", longer, []string{"0s", "-1s"}},
		{"server.request_timeout", longer, []string{"0s", "-1s"}},
		{"server.shutdown_delay", "must be at least 0s", []string{"-1s", "-1ns"}},
		{"server.shutdown_timeout", "must be at least 7s", []string{"0s", "-1s", "6s", "6.999s"}},
		{"server.production_url", remedies["baseurl"], badURLs},
		{"server.staging_url", remedies["baseurl"], badURLs},
		{"server.max_connections", "must not be negative; 0 is no limit", []string{"-1"}},
		{"server.trusted_proxies", remedies["ip|cidr"], []string{
			"localhost", "10.0.0", "10.0.0.256", "10.0.0.0/33", "fe80::1%eth0", "10.0.0.1:80",
		}},
		{"database.driver", "must be sqlite or postgres", []string{"", "SQLite", "PostgreSQL"}},
		{"database.max_open_conns", number, []string{"0", "-1", "1001"}},
		{"database.require_synchronous", remedies["excluded_unless"], []string{"true"}},
		{"cache.max_bytes", "must be from 0, which disables the cache, to 1099511627776", []string{"-1", "1099511627777"}},
		{"cache.max_staleness", "must be from 0s to 5s", []string{"-1ns", "5001ms", "24h"}},
		{"rate_limit.requests", "must be from 0, which is no limit, to 1000000", []string{"-1", "1000001"}},
		{"rate_limit.window", "must be whole seconds, from 1s to 24h", []string{"0s", "-1s", "999ms", "1.5s", "24h0m1s"}},
		{"cors.allowed_origins", remedies["pageorigin"], []string{
			"*", "null", "shop.example.com", "https://*.example.com", "https://shop.example.com/", "https://shop.example.com/shop",
			"https://shop.example.com?", "https://me:pw", "https://shop.example.com:65536",
			"http://shop.example.com:80", "https://shop.example.com:443", "ftp://shop.example.com", "//shop.example.com",
		}},
		{"log.level", "must be debug or info or warn or error", []string{"", "INFO", "trace"}},
		{"log.format", "must be console or json", []string{"", "JSON", "text"}},
		{"tracing.otlp_endpoint", remedies["plainurl"], []string{
			"localhost:4318", "grpc://localhost:4317", "http://localhost:4318/", "http://localhost:4318?a=b", "http://",
		}},
		// texts that are not of the type
		{"server.idle_timeout", typeRemedies[duration], []string{"", "10", "true", "1 s", "d", "-1d", "1.5d", "99999d", "1d12h"}},
		{"database.max_open_conns", typeRemedies[byKey["database.max_open_conns"].Type], []string{"", "4.0", "0x4", "four", "null", " 4", "99999999999999999999"}},
		{"database.migrate", typeRemedies[byKey["database.migrate"].Type], []string{"", "2", "yes", "on"}},
		// secrets
		{"auth.bootstrap_key", remedies["bootstrapkey"], []string{
			"petstore_", key[:len(key)-1], key + "a", key[:len(key)-1] + "-", key[len("petstore_"):], " " + key, "petstore_" + strings.Repeat("a", 49),
		}},
		{"database.dsn", remedies["dsn"], []string{
			"", " ", ":memory:", "file:pets.db", "file::memory:", "pets.db?mode=ro", "postgres://db/pets", "a\x00b", "host=db",
			" Host = db password=hunter2", "db:5432 password=hunter2", "pets:hunter2@db:5432/pets",
		}},
	} {
		for _, bad := range test.bad {
			t.Run(test.key+"="+bad, func(t *testing.T) {
				t.Parallel()
				checkProblems(t, Options{Overrides: map[string]string{test.key: bad}},
					test.key+" = "+byKey[test.key].quote(bad)+" (command line): "+test.remedy)
			})
		}
	}
}

func TestEveryTypeAndRuleHasARemedy(t *testing.T) {
	t.Parallel()
	for _, s := range settings {
		if typeRemedies[s.Type] == "" {
			t.Errorf("%s: the type %v has no remedy", s.key, s.Type)
		}
		for rule := range strings.SplitSeq(s.Tag.Get("validate"), ",") {
			name, _, _ := strings.Cut(rule, "=")
			if name != "" && name != "omitempty" && name != "dive" && remedies[name] == "" && s.Tag.Get("remedy") == "" {
				t.Errorf("%s: the rule %s has no remedy", s.key, name)
			}
		}
	}
}

var badURLs = []string{
	"pets.example.com", "//pets.example.com", "ftp://pets.example.com", "https://", "https:pets",
	"https://pets.example.com/", "https://pets.example.com/v1", "https://pets.example.com/v1/", "https://pets.example.com?a=b",
	"https://pets.example.com?", "https://pets.example.com#a", "https://pets.example.com#", "https://me@pets.example.com",
	"https://[::1", "https://[1:2]", "https://pets.example.com/a b", "{base_url}", " ",
}

func TestPostgresDSNMustBeAConnectionString(t *testing.T) {
	t.Parallel()
	load := func(dsn string) Options {
		return Options{Overrides: map[string]string{"database.driver": "postgres", "database.dsn": dsn}}
	}
	for _, bad := range []string{"", "pets.db", "mysql://db/pets", "db1:5432/pets", " postgres://db/pets", "\npostgresql://db/pets"} {
		checkProblems(t, load(bad), "database.dsn = (hidden) (command line): "+remedies["dsn"])
	}
	checkProblems(t, Options{Overrides: map[string]string{"database.driver": "postgres"}}, "database.dsn = (hidden) (default): "+remedies["dsn"])
	mysql := map[string]string{"database.driver": "mysql", "database.dsn": "mysql://db/pets"} // only the driver is invalid
	checkProblems(t, Options{Overrides: mysql}, `database.driver = "mysql" (command line): must be sqlite or postgres`)
	for _, good := range []string{"postgres://db/pets", "postgresql://u:p@db1:5432,db2:5433/pets?sslmode=verify-full", "host=/run/postgresql user = pets", "service=pets"} {
		if _, err := Load(load(good)); err != nil {
			t.Errorf("%s: %v", good, err)
		}
	}
}

func TestValidValuesAreAccepted(t *testing.T) {
	t.Parallel()
	for key, values := range map[string][]string{
		"server.address":          {":0", ":65535", "localhost:80", "[::1]:8080", "[fe80::1%eth0]:80", "0.0.0.0:8080", "pets.example.com:80"},
		"server.production_url":   {"", "http://localhost:8080", "https://[::1]:8443/shop", "https://pets.example.com/shop/v10", "https://a/v1/b"},
		"server.shutdown_delay":   {"0s", "15s", "1d"},
		"server.shutdown_timeout": {"7s"},
		"server.max_connections":  {"0", "100000"},
		"server.trusted_proxies":  {"", "::1", "10.0.0.1/8, fd00::/8"},
		"server.write_timeout":    {"10001ms"},
		"database.dsn":            {"a b.db", "../pets.db", "C:\\pets.db", "/data/100%.db", "shop=1.db", "user/host=1/pets.db", "12:30/pets@home.db"},
		"database.max_open_conns": {"1", "1000", "010"},
		"database.migrate":        {"TRUE", "False", "1"},
		"auth.bootstrap_key":      {"", apikey.Generate()},
		"cache.max_bytes":         {"0", "1099511627776"},
		"cache.max_staleness":     {"0s", "5s"},
		"rate_limit.requests":     {"0", "1000000"},
		"rate_limit.window":       {"1s", "24h", "1d"},
		"cors.allowed_origins":    {"", "https://shop.example.com, http://localhost:3000", "https://[::1]:8443"},
		"log.level":               {"debug", "info", "warn", "error"},
		"log.format":              {"console", "json"},
		"tracing.otlp_endpoint":   {"", "http://localhost:4318", "https://collector.example.com/v1/traces"},
	} {
		for _, value := range values {
			t.Run(key+"="+value, func(t *testing.T) {
				t.Parallel()
				if _, err := Load(Options{Overrides: map[string]string{key: value}}); err != nil {
					t.Error(err)
				}
			})
		}
	}
}

func TestWriteTimeoutMustExceedRequestTimeout(t *testing.T) {
	t.Parallel()
	const request, write = "server.request_timeout", "server.write_timeout"
	checkProblems(t, Options{Overrides: map[string]string{request: "30s"}},
		`server.write_timeout = "30s" (default): must be longer than server.request_timeout`)
	// The rule is not checked while one of its values is invalid.
	checkProblems(t, Options{Overrides: map[string]string{request: "long", write: "1ns"}},
		`server.request_timeout = "long" (command line): `+typeRemedies[duration])
	path := writeConfig(t, "server: {write_timeout: 60}")
	checkProblems(t, Options{File: path, Overrides: map[string]string{request: "50s"}},
		"server.write_timeout = 60 ("+path+"): "+typeRemedies[duration])
}
