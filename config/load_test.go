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
  PETSTORE_DB_DSN (environment): no such setting; petstore config lists all
  PETSTORE_LOG_LEVLE (environment): no such setting; did you mean PETSTORE_LOG_LEVEL?
  admin.port (command line): no such setting; petstore config lists all
  auth.bootstrap_key = (hidden) (PETSTORE_AUTH_BOOTSTRAP_KEY_FILE): set either PETSTORE_AUTH_BOOTSTRAP_KEY or PETSTORE_AUTH_BOOTSTRAP_KEY_FILE
  cache.max_bytes (<file>): has no value; write one, or leave the setting out
  cors.allowed_origins = "*" (<file>): must be the origin of a page as a browser sends it, such as https://shop.example.com or http://localhost:3000
  cors.allowed_origins = "https://shop.example.com/" (<file>): must be the origin of a page as a browser sends it, such as https://shop.example.com or http://localhost:3000
  database.dsn = (hidden) (PETSTORE_DATABASE_DSN): must be the connection string of a PostgreSQL database, such as postgres://user@host:5432/database, or the path of a SQLite file, such as petstore.db, as database.driver requires
  database.max_open_conns = "many" (PETSTORE_DATABASE_MAX_OPEN_CONNS): must be a whole number in plain digits
  database.require_synchronous = "true" (command line): must be false unless database.driver is postgres: a SQLite store has no standby
  databse.dsn (<file>): no such setting; did you mean database.dsn?
  docs.enabled = "yes" (<file>): must be true or false
  log.format = "xml" (command line): must be console or json
  rate_limit.requests = "-1" (command line): must be from 0, which is no limit, to 1000000
  server.address = "localhost" (PETSTORE_SERVER_ADDRESS): must be host:port with a port from 0 to 65535, such as 127.0.0.1:8080
  server.adress (<file>): no such setting; did you mean server.address?
  server.idle_timeout = "-1d" (command line): must be a duration with its unit, such as 500ms, 15s, 2m or 1d
  server.read_timeout = 10 (<file>): must be a duration with its unit, such as 500ms, 15s, 2m or 1d
  server.trusted_proxies = "here" (command line): must be an IP address or a CIDR network, such as 10.0.0.0/8
  server.trusted_proxies = "there" (command line): must be an IP address or a CIDR network, such as 10.0.0.0/8
  server.write_timeout = "5s" (<file>): must be longer than server.request_timeout
  tracing.otlp_endpoint = "localhost:4318" (command line): must be an http or https URL such as http://localhost:4318, without user, query, fragment or a slash at the end`, "<file>", path)
	if diff := cmp.Diff(want, err.Error()); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
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

func TestFileIsLookedForInOrder(t *testing.T) {
	folder := t.TempDir()
	first, second, named := filepath.Join(folder, "a.yaml"), filepath.Join(folder, "b.yaml"), filepath.Join(folder, "named.yaml")
	flag := filepath.Join(folder, "flag.yaml")
	options := Options{SearchPaths: []string{first, second}}
	find := func(wantPath, wantSource string) {
		t.Helper()
		if path, source := options.Find(); path != wantPath || source != wantSource {
			t.Errorf("got %q, %q, want %q, %q", path, source, wantPath, wantSource)
		}
	}
	find("", "default")
	write(t, second, "log: {level: warn}")
	find(second, "default")
	write(t, first, "")
	find(first, "default")
	t.Setenv("PETSTORE_CONFIG", named)
	find(named, "PETSTORE_CONFIG")
	options.File = flag
	find(flag, "command line")
}

func TestFoundFileIsRead(t *testing.T) {
	path := writeConfig(t, "log: {level: warn}")
	for name, options := range map[string]Options{"searched": {SearchPaths: []string{"none.yaml", path}}, "variable": {}} {
		if name == "variable" {
			t.Setenv("PETSTORE_CONFIG", path)
		}
		if got := explain(t, options)["log.level"]; got != (Value{"log.level", "warn", path}) {
			t.Errorf("%s: got %v", name, got)
		}
	}
	t.Setenv("PETSTORE_CONFIG", "none.yaml")
	checkProblems(t, Options{SearchPaths: []string{path}}, "none.yaml (PETSTORE_CONFIG): cannot be read: no such file or directory")
}

func TestFoundFileThatCannotBeReadIsAnError(t *testing.T) {
	t.Parallel()
	path := filepath.Join(writeConfig(t, ""), "petstore.yaml") // below a file
	checkProblems(t, Options{SearchPaths: []string{path}}, path+" (default): cannot be read: not a directory")
}

func TestFileMustBeAConfiguration(t *testing.T) {
	t.Parallel()
	const format = "its name must end in .yaml, .yml, .toml or .json"
	directory := filepath.Join(t.TempDir(), "conf.yaml")
	if err := os.Mkdir(directory, 0o700); err != nil {
		t.Fatal(err)
	}
	named := func(name, text string) string { return write(t, filepath.Join(t.TempDir(), name), text) }
	for name, test := range map[string]struct{ path, want string }{
		"missing":        {filepath.Join(t.TempDir(), "none.yaml"), "no such file or directory"},
		"directory":      {directory, "is a directory"},
		"other format":   {named("petstore.conf", "{}"), format},
		"no extension":   {named("petstore", ""), format},
		"malformed YAML": {named("a.yaml", "server:\n\taddress: x"), "yaml: line 2: found character that cannot start any token"},
		"malformed TOML": {named("a.toml", "[server]\naddress = :80"), "toml: incomplete number"},
		"malformed JSON": {named("a.json", `{"server": {"address": ":80",}}`), "invalid character '}' looking for beginning of object key string"},
		"text":           {named("b.yaml", "server"), "yaml: unmarshal errors: line 1: cannot unmarshal !!str (hidden) into map[string]interface {}"},
		"list":           {named("c.yml", "- server"), "yaml: unmarshal errors: line 1: cannot unmarshal !!seq into map[string]interface {}"},
		"YAML twice":     {named("e.yaml", "log:\n  level: warn\n  level: info"), `yaml: unmarshal errors: line 3: mapping key "level" already defined at line 2`},
		"TOML twice":     {named("e.toml", "[log]\nlevel = 'warn'\nlevel = 'info'"), "toml: key level is already defined"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			checkProblems(t, Options{File: test.path}, test.path+" (command line): cannot be read: "+test.want)
		})
	}
}

func TestFileWithoutSettingsIsValid(t *testing.T) {
	t.Parallel()
	for name, text := range map[string]string{
		"empty":           "",
		"comments":        "# nothing\n",
		"empty document":  "---\n",
		"empty section":   "server:\n",
		"byte order mark": "\uFEFFlog:\n",
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			wantDefaults(t, Options{File: writeConfig(t, text)})
		})
	}
	for name, text := range map[string]string{"empty.toml": "", "section.toml": "[server]", "empty.json": "{}", "null.json": `{"server": null}`} {
		wantDefaults(t, Options{File: write(t, filepath.Join(t.TempDir(), name), text)})
	}
}

func TestTypesOfAFileAreNotConverted(t *testing.T) {
	t.Parallel()
	const (
		quoted   = " must be text; put it in quotes"
		number   = " must be a whole number in plain digits"
		boolean  = " must be true or false"
		list     = " must be a list of texts"
		duration = " must be a duration with its unit, such as 500ms, 15s, 2m or 1d"
		none     = " has no value; write one, or leave the setting out"
	)
	for _, test := range []struct{ key, yaml, text, remedy string }{
		{"server.address", "8080", " = 8080", quoted},
		{"server.address", "true", " = true", quoted},
		{"server.address", "[a, b]", ` = ["a","b"]`, quoted},
		{"server.address", "{}", " = {}", quoted},
		{"server.address", "2030-12-05", ` = "2030-12-05T00:00:00Z"`, quoted},
		{"server.address", "", "", none},
		{"server.address", "~", "", none},
		{"server.idle_timeout", "10", " = 10", duration},
		{"server.idle_timeout", "true", " = true", duration},
		{"server.idle_timeout", `"10"`, ` = "10"`, duration},
		{"server.idle_timeout", "soon", ` = "soon"`, duration},
		{"database.max_open_conns", `"4"`, ` = "4"`, number},
		{"database.max_open_conns", "4.5", " = 4.5", number},
		{"database.max_open_conns", "true", " = true", number},
		{"database.migrate", "1", " = 1", boolean},
		{"database.migrate", `"true"`, ` = "true"`, boolean},
		{"database.migrate", "on", ` = "on"`, boolean},
		{"server.trusted_proxies", "10.0.0.1", ` = "10.0.0.1"`, list},
		{"server.trusted_proxies", "[10.0.0.1, 7]", ` = ["10.0.0.1",7]`, list},
	} {
		t.Run(test.key+"="+test.yaml, func(t *testing.T) {
			t.Parallel()
			section, name, _ := strings.Cut(test.key, ".")
			path := writeConfig(t, section+":\n  "+name+": "+test.yaml)
			checkProblems(t, Options{File: path}, test.key+test.text+" ("+path+"): "+strings.TrimSpace(test.remedy))
		})
	}
}

func TestUnknownKeysOfAFileAreRejected(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct{ text, key, remedy string }{
		"misspelt setting": {"server:\n  adress: x", "server.adress", "setting; did you mean server.address?"},
		"misspelt section": {"databse:\n  dsn: x", "databse.dsn", "setting; did you mean database.dsn?"},
		"plural":           {"cors:\n  allowed_origin: x", "cors.allowed_origin", "setting; did you mean cors.allowed_origins?"},
		"other name":       {"log:\n  output: x", "log.output", "setting; petstore config lists all"},
		"other section":    {"metrics:\n  port: x", "metrics.port", "setting; petstore config lists all"},
		"no section":       {"level: x", "level", "setting; petstore config lists all"},
		"no map":           {"log: info", "log", "setting; petstore config lists all"},
		"too deep":         {"log:\n  log:\n    level: warn", "log.log.level", "setting; petstore config lists all"},
		"control":          {"log:\n  \"a\\nb\": warn", `log.a\nb`, "setting; petstore config lists all"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			path := writeConfig(t, test.text)
			checkProblems(t, Options{File: path}, test.key+" ("+path+"): no such "+test.remedy)
		})
	}
}

func TestFileMayUseAliasesAndOtherCase(t *testing.T) {
	t.Parallel()
	got, err := Load(Options{File: writeConfig(t, `
Server:
  READ_timeout: &timeout 7s
  idle_timeout: *timeout
  trusted_proxies: [&proxy 10.0.0.1, *proxy]
`)})
	if err != nil {
		t.Fatal(err)
	}
	want := defaults()
	want.Server.ReadTimeout = 7 * time.Second
	want.Server.IdleTimeout = 7 * time.Second
	want.Server.TrustedProxies = []string{"10.0.0.1", "10.0.0.1"}
	if diff := cmp.Diff(want, got, cmpopts.EquateEmpty()); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
}

func TestEmptyVariableIsSet(t *testing.T) {
	t.Setenv("PETSTORE_ADMIN_ADDRESS", "")
	t.Setenv("PETSTORE_SERVER_TRUSTED_PROXIES", "")
	got, err := Load(Options{File: writeConfig(t, "server: {trusted_proxies: [10.0.0.1]}\nadmin: {address: 127.0.0.1:9191}")})
	if err != nil {
		t.Fatal(err)
	}
	if got.Admin.Address != "" || len(got.Server.TrustedProxies) != 0 {
		t.Errorf("got %q and %q, want both empty", got.Admin.Address, got.Server.TrustedProxies)
	}
}

func TestOtherVariablesAreIgnored(t *testing.T) {
	for name, value := range map[string]string{
		"LOG_LEVEL":                       "error",
		"PETSTORE_TEST_POSTGRES_DSN":      "postgres://localhost",
		"PETSTORE_SERVICE_HOST":           "10.96.0.10",
		"PETSTORE_SERVICE_PORT_HTTP":      "80",
		"PETSTORE_PORT_80_TCP":            "tcp://10.96.0.10:80",
		"PETSTORE_PORT":                   "tcp://10.96.0.10:80",
		"PETSTORE_ADMIN_SERVICE_HOST":     "10.96.0.11",
		"PETSTORE_ADMIN_SERVICE_PORT":     "9090",
		"PETSTORE_ADMIN_SERVICE_PORT_WEB": "9090",
		"PETSTORE_ADMIN_PORT":             "tcp://10.96.0.11:9090",
		"PETSTORE_API_PORT_80_TCP_ADDR":   "10.96.0.12",
	} {
		t.Setenv(name, value)
	}
	wantDefaults(t, Options{})
}

func TestSecretIsReadFromFile(t *testing.T) {
	t.Setenv("PETSTORE_DATABASE_DSN_FILE", write(t, filepath.Join(t.TempDir(), "dsn"), "/data/pets.db\r\n"))
	file := writeConfig(t, "database: {dsn: other.db}")
	for want, overrides := range map[string]map[string]string{"/data/pets.db": nil, "flag.db": {"database.dsn": "flag.db"}} {
		got, err := Load(Options{File: file, Overrides: overrides})
		if err != nil || got.Database.DSN != want {
			t.Errorf("got %q, %v, want %q", got.Database.DSN, err, want)
		}
	}
}

func TestFileOfASecretMustBeReadable(t *testing.T) {
	t.Setenv("PETSTORE_AUTH_BOOTSTRAP_KEY_FILE", filepath.Join(t.TempDir(), "none"))
	t.Setenv("PETSTORE_DATABASE_DSN_FILE", writeConfig(t, "pets.db"))
	t.Setenv("PETSTORE_DATABASE_DSN", "pets.db")
	checkProblems(
		t, Options{},
		"auth.bootstrap_key = (hidden) (PETSTORE_AUTH_BOOTSTRAP_KEY_FILE): must name a file that can be read: no such file or directory",
		"database.dsn = (hidden) (PETSTORE_DATABASE_DSN_FILE): set either PETSTORE_DATABASE_DSN or PETSTORE_DATABASE_DSN_FILE",
	)
}

// FuzzFile loads a file with any text. The settings are valid, or each problem is one line.
func FuzzFile(f *testing.F) {
	example, err := os.ReadFile("petstore.example.yaml")
	if err != nil {
		f.Fatal(err)
	}
	for _, seed := range []string{
		string(example), "", "server:\n  address: :8080\n", "server: {address: [1, 2]}", "a: &a {b: *a}", "--- \n---\n", "server:\n  address: 1\n  address: 2\n",
		"database: {driver: postgres, dsn: 'postgres://u:secret@h/d'}", "rate_limit: {requests: -1, window: 1h1ms}", "cache: {max_bytes: 1e3}", "? [a]\n: b",
		"server: {trusted_proxies: [10.0.0.0/8, x]}", "log: {level: \"\x00\"}", "api: {get_pet_sunset: 2030-02-30}", "<<: {server: 1}", "!!binary x", "\xff",
		"server: {trusted_proxies: &b [*b]}", "\"\": !!int x", `{"log": {"level": 1}}`, "[log]\nlevel = 1", "log.level = 'info'",
	} {
		f.Add([]byte(seed))
	}
	folder := f.TempDir()
	f.Fuzz(func(t *testing.T, text []byte) {
		for _, name := range []string{"petstore.yaml", "petstore.toml", "petstore.json"} {
			path := write(t, filepath.Join(folder, name), string(text))
			_, err := Load(Options{File: path})
			if err == nil {
				continue
			}
			invalid, ok := errors.AsType[*InvalidError](err)
			if !ok || len(invalid.Problems) == 0 {
				t.Fatalf("got %v, want an InvalidError with problems", err)
			}
			for _, problem := range invalid.Problems {
				if !strings.Contains(problem, path) || strings.Contains(problem, "\n") {
					t.Fatalf("got the problem %+q, want one line with the file", problem)
				}
			}
			if _, explained := Explain(Options{File: path}); explained == nil {
				t.Fatal("Explain finds no problem, Load does")
			}
		}
	})
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
