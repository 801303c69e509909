package config

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
)

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

func TestLoadReturnsDefaults(t *testing.T) {
	t.Parallel()
	wantDefaults(t, Options{})
}

func TestLaterSourcesOverrideEarlierOnes(t *testing.T) {
	const variable = "PETSTORE_LOG_LEVEL"
	file := writeConfig(t, "log: {level: debug}")
	flag := map[string]string{"log.level": "error"}
	for name, test := range map[string]struct {
		variable     string
		options      Options
		want, source string
	}{
		"default":                    {"", Options{}, "info", "default"},
		"file over default":          {"", Options{File: file}, "debug", file},
		"environment over default":   {"warn", Options{}, "warn", variable},
		"environment over file":      {"warn", Options{File: file}, "warn", variable},
		"flag over file":             {"", Options{File: file, Overrides: flag}, "error", "command line"},
		"flag over environment":      {"warn", Options{Overrides: flag}, "error", "command line"},
		"flag over all":              {"warn", Options{File: file, Overrides: flag}, "error", "command line"},
		"another key of the section": {"", Options{File: writeConfig(t, "log: {format: console}")}, "info", "default"},
	} {
		t.Run(name, func(t *testing.T) {
			if test.variable != "" {
				t.Setenv(variable, test.variable)
			}
			got, err := Load(test.options)
			if err != nil {
				t.Fatal(err)
			}
			if got.Log.Level != test.want {
				t.Errorf("got %q, want %q", got.Log.Level, test.want)
			}
			if source := explain(t, test.options)["log.level"].Source; source != test.source {
				t.Errorf("got source %q, want %q", source, test.source)
			}
		})
	}
}

func TestEverySourceReadsEveryType(t *testing.T) {
	want := defaults()
	want.Server.Address = ":80"
	want.Server.RequestTimeout = 1500 * time.Millisecond
	want.Server.TrustedProxies = []string{"10.0.0.0/8", "::1"}
	want.Server.ProductionURL = "https://pets.example.com/shop"
	want.Admin.Address = ""
	want.Database.DSN = "/var/lib/pets @ home.db"
	want.Database.MaxOpenConns = 16
	want.Database.Migrate = false

	texts := map[string]string{
		"server.address":          ":80",
		"server.request_timeout":  "1.5s",
		"server.trusted_proxies":  "10.0.0.0/8, ::1",
		"server.production_url":   "https://pets.example.com/shop",
		"admin.address":           "",
		"database.dsn":            "/var/lib/pets @ home.db",
		"database.max_open_conns": "16",
		"database.migrate":        "false",
	}
	file := writeConfig(t, `
server:
  address: :80
  request_timeout: 1.5s
  trusted_proxies: [10.0.0.0/8, "::1"]
  production_url: https://pets.example.com/shop
  idle_timeout: 2m
admin: {address: ""}
database:
  dsn: /var/lib/pets @ home.db
  max_open_conns: 16
  migrate: False
docs:
`)
	toml := write(t, filepath.Join(t.TempDir(), "petstore.toml"), `
[server]
address = ":80"
request_timeout = "1.5s"
trusted_proxies = ["10.0.0.0/8", "::1"]
production_url = "https://pets.example.com/shop"
idle_timeout = "2m"
[admin]
address = ""
[database]
dsn = "/var/lib/pets @ home.db"
max_open_conns = 16
migrate = false
[docs]
`)
	json := write(t, filepath.Join(t.TempDir(), "petstore.json"), `{
	"server": {
		"address": ":80", "request_timeout": "1.5s", "trusted_proxies": ["10.0.0.0/8", "::1"],
		"production_url": "https:\/\/pets.example.com/shop", "idle_timeout": "2m"
	},
	"admin": {"address": ""}, "docs": null,
	"database": {"dsn": "/var/lib/pets @ home.db", "max_open_conns": 16, "migrate": false}
}`)
	for name, options := range map[string]Options{
		"YAML":         {File: file},
		"TOML":         {File: toml},
		"JSON":         {File: json},
		"environment":  {},
		"command line": {Overrides: texts},
	} {
		t.Run(name, func(t *testing.T) {
			for key, text := range texts {
				if name == "environment" {
					t.Setenv(byKey[key].variable, text)
				}
			}
			got, err := Load(options)
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(want, got, cmpopts.EquateEmpty()); diff != "" {
				t.Errorf("-want +got:\n%s", diff)
			}
		})
	}
}

func TestLoadReturnsAllProblemsAtOnce(t *testing.T) {
	path := writeConfig(t, `
server:
  address: 8080
  adress: 127.0.0.1:8080
  read_timeout: 10
  write_timeout: 5s
databse: {dsn: other.db}
docs: {enabled: yes}
cache: {max_bytes: }
cors: {allowed_origins: ["https://shop.example.com/", "*"]}
`)
	for name, value := range map[string]string{
		"PETSTORE_SERVER_ADDRESS":          "localhost",
		"PETSTORE_LOG_LEVLE":               "debug",
		"PETSTORE_DB_DSN":                  "/data/pets.db",
		"PETSTORE_DATABASE_MAX_OPEN_CONNS": "many",
		"PETSTORE_DATABASE_DSN":            "postgres://pets:hunter2@db/pets",
		"PETSTORE_AUTH_BOOTSTRAP_KEY":      "hunter2",
		"PETSTORE_AUTH_BOOTSTRAP_KEY_FILE": "hunter2",
	} {
		t.Setenv(name, value)
	}
	_, err := Load(Options{File: path, Overrides: map[string]string{
		"log.format": "xml", "admin.port": "1", "server.trusted_proxies": "here,::1,there", "server.idle_timeout": "-1d",
		"database.require_synchronous": "true", "tracing.otlp_endpoint": "localhost:4318", "rate_limit.requests": "-1",
	}})
	want := strings.ReplaceAll(`the configuration is not valid:
  PETSTORE_DB_DSN: no such section; there are server, admin, database, auth, cache, rate_limit, cors, docs, log, tracing
  PETSTORE_LOG_LEVLE: no such setting; did you mean PETSTORE_LOG_LEVEL?
  admin.port (command line): no such setting; there are admin.address
  auth.bootstrap_key = (hidden) (PETSTORE_AUTH_BOOTSTRAP_KEY_FILE): set either PETSTORE_AUTH_BOOTSTRAP_KEY or PETSTORE_AUTH_BOOTSTRAP_KEY_FILE
  cache.max_bytes (<file>): has no value; write one, or leave the setting out
  cors.allowed_origins = "*" (<file>): must be the origin of a page as a browser sends it, such as https://shop.example.com or http://localhost:3000
  cors.allowed_origins = "https://shop.example.com/" (<file>): must be the origin of a page as a browser sends it, such as https://shop.example.com or http://localhost:3000
  database.dsn = (hidden) (PETSTORE_DATABASE_DSN): must be the path of a file, such as petstore.db, without file:, :memory:, parameters or keywords of PostgreSQL, for which set database.driver to postgres
  database.max_open_conns = "many" (PETSTORE_DATABASE_MAX_OPEN_CONNS): must be a whole number in plain digits
  database.require_synchronous = "true" (command line): must be false unless database.driver is postgres: a SQLite store has no standby
  databse.dsn (<file>): no such setting; did you mean database.dsn?
  docs.enabled = "yes" (<file>): must be true or false
  log.format = "xml" (command line): must be console or json
  rate_limit.requests = "-1" (command line): must be from 0, which is no limit, to 1000000
  server.address = "localhost" (PETSTORE_SERVER_ADDRESS): must be host:port with a port from 0 to 65535, such as 127.0.0.1:8080
  server.address = 8080 (<file>): must be text; put it in quotes
  server.adress (<file>): no such setting; did you mean server.address?
  server.idle_timeout = "-1d" (command line): must be a duration with its unit, such as 500ms, 15s, 2m or 1d
  server.read_timeout = 10 (<file>): must be a duration with its unit, such as 500ms, 15s, 2m or 1d
  server.trusted_proxies = "here" (command line): must be an IP address or a CIDR network, such as 10.0.0.0/8
  server.trusted_proxies = "there" (command line): must be an IP address or a CIDR network, such as 10.0.0.0/8
  server.write_timeout = "5s" (<file>): must be longer than server.request_timeout = "10s" (default)
  tracing.otlp_endpoint = "localhost:4318" (command line): must be an http or https URL such as http://localhost:4318, without user, query, fragment or a slash at the end`, "<file>", path)
	if diff := cmp.Diff(want, err.Error()); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
}

func TestExplainReturnsEachSettingWithItsSource(t *testing.T) {
	t.Setenv("PETSTORE_RATE_LIMIT_REQUESTS", "5")
	t.Setenv("PETSTORE_ADMIN_ADDRESS", "")
	path := writeConfig(t, "server:\n  idle_timeout: 120s\n  trusted_proxies: [10.0.0.0/8, \"::1\"]\nlog: {level: \"warn\"}")
	got := explain(t, Options{
		File:      path,
		Overrides: map[string]string{"docs.enabled": "false", "database.dsn": "other.db"},
	})
	for _, want := range []Value{
		{"server.address", "127.0.0.1:8080", "default"},
		{"server.idle_timeout", "120s", path},
		{"server.trusted_proxies", "10.0.0.0/8,::1", path},
		{"server.tls_key_file", "", "default"},
		{"admin.address", "", "PETSTORE_ADMIN_ADDRESS"},
		{"database.max_open_conns", "4", "default"},
		{"database.dsn", "(hidden)", "command line"},
		{"auth.bootstrap_key", "", "default"},
		{"cache.max_bytes", "16777216", "default"},
		{"rate_limit.requests", "5", "PETSTORE_RATE_LIMIT_REQUESTS"},
		{"docs.enabled", "false", "command line"},
		{"log.level", "warn", path},
	} {
		if got[want.Key] != want {
			t.Errorf("got %v, want %v", got[want.Key], want)
		}
	}
}

func TestExplainReturnsEverySettingInOrder(t *testing.T) {
	t.Parallel()
	values, err := Explain(Options{})
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, value := range values {
		got = append(got, value.Key)
	}
	if diff := cmp.Diff(Keys(), got); diff != "" {
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

func TestExplainHidesSecrets(t *testing.T) {
	key := "petstore_" + strings.Repeat("hunter2", 7)
	file := write(t, filepath.Join(t.TempDir(), "key"), key)
	for _, test := range []struct {
		environ string
		options Options
	}{
		{"PETSTORE_AUTH_BOOTSTRAP_KEY=" + key, Options{}},
		{"PETSTORE_AUTH_BOOTSTRAP_KEY_FILE=" + file, Options{}},
		{"", Options{Overrides: map[string]string{"auth.bootstrap_key": key}}},
		{"", Options{Overrides: map[string]string{"auth.bootstrap_key": "hunter2"}}},
		{"", Options{Overrides: map[string]string{"server.production_url": "https://pets:hunter2@example.com"}}},
		{"", Options{Overrides: map[string]string{"server.tls_cert_file": "https://pets:hunter2@example.com"}}},
		{"", Options{File: writeConfig(t, "auth:\n  bootstrap_key: "+key)}},
	} {
		t.Run("", func(t *testing.T) {
			if variable, value, ok := strings.Cut(test.environ, "="); ok {
				t.Setenv(variable, value)
			}
			values, _ := Explain(test.options)
			for _, value := range values {
				if strings.Contains(value.Text, "hunter2") || strings.Contains(value.Source, "hunter2") {
					t.Errorf("the value contains the secret: %v", value)
				}
			}
		})
	}
}

func TestExplainReturnsValuesWithProblems(t *testing.T) {
	t.Parallel()
	path := writeConfig(t, "server: {read_timeout: 10}")
	values, err := Explain(Options{File: path, Overrides: map[string]string{"log.level": "loud", "no.such": "x"}})
	invalid, ok := errors.AsType[*InvalidError](err)
	if !ok || len(invalid.Problems) != 3 {
		t.Errorf("got %v, want three problems", err)
	}
	got := map[string]Value{}
	for _, value := range values {
		got[value.Key] = value
	}
	for _, want := range []Value{
		{"server.read_timeout", "(invalid)", path},
		{"log.level", "(invalid)", "command line"},
		{"log.format", "json", "default"},
	} {
		if got[want.Key] != want {
			t.Errorf("got %v, want %v", got[want.Key], want)
		}
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

func TestParseDuration(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]time.Duration{
		"90d": 90 * 24 * time.Hour, "0d": 0, "007d": 7 * 24 * time.Hour, "36h": 36 * time.Hour, "30m": 30 * time.Minute, "1h30m": 90 * time.Minute,
		"0": 0, "-1h": -time.Hour,
	} {
		if got, err := ParseDuration(text); err != nil || got != want {
			t.Errorf("%q: got %v, %v; want %v", text, got, err, want)
		}
	}
	for _, text := range []string{"", "d", "90", "-1d", "+1d", "1.5d", "1d12h", "12h1d", "90 d", "90D", "65536d", "99999999999999h", "soon"} {
		if got, err := ParseDuration(text); err == nil {
			t.Errorf("%q: got %v, want an error", text, got)
		}
	}
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
