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
	"github.com/spf13/viper"
)

func TestLaterSourcesOverrideEarlierOnes(t *testing.T) {
	const variable = "PETSTORE_LOG_LEVEL"
	file := writeConfig(t, "log: {level: debug}")
	flag := map[string]string{"log.level": "error"}
	for _, test := range []struct {
		variable     string
		options      Options
		want, source string
	}{
		{"", Options{}, "info", "default"},
		{"", Options{File: writeConfig(t, "log: {format: console}")}, "info", "default"},
		{"", Options{File: file}, "debug", file},
		{"", Options{File: file, Overrides: flag}, "error", "command line"},
		{"warn", Options{}, "warn", variable},
		{"warn", Options{File: file}, "warn", variable},
		{"warn", Options{File: file, Overrides: flag}, "error", "command line"},
	} {
		if test.variable != "" {
			t.Setenv(variable, test.variable)
		}
		got, err := Load(test.options)
		explained := explain(t, test.options)["log.level"]
		if want := (Value{"log.level", test.want, test.source}); err != nil || got.Log.Level != test.want || explained != want {
			t.Errorf("got %q, %v and %v, want %v", got.Log.Level, err, explained, want)
		}
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
	others := viper.New()
	others.SetConfigFile(file)
	if err := others.ReadInConfig(); err != nil {
		t.Fatal(err)
	}
	toml, json := filepath.Join(t.TempDir(), "petstore.toml"), filepath.Join(t.TempDir(), "petstore.json")
	if err := errors.Join(others.WriteConfigAs(toml), others.WriteConfigAs(json)); err != nil {
		t.Fatal(err)
	}
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
	path := func(name string) string { return filepath.Join(folder, name) }
	options := Options{SearchPaths: []string{path("a.yaml"), path("b.yaml")}}
	find := func(wantPath, wantSource, wantLevel string) {
		t.Helper()
		if path, source := options.Find(); path != wantPath || source != wantSource {
			t.Errorf("got %q, %q, want %q, %q", path, source, wantPath, wantSource)
		}
		if got := explain(t, options)["log.level"].Text; got != wantLevel {
			t.Errorf("%s: got the level %s, want %s", wantPath, got, wantLevel)
		}
	}
	find("", "default", "info")
	write(t, path("b.yaml"), "log: {level: warn}")
	find(path("b.yaml"), "default", "warn")
	write(t, path("a.yaml"), "")
	find(path("a.yaml"), "default", "info")
	t.Setenv("PETSTORE_CONFIG", write(t, path("named.yaml"), "log: {level: debug}"))
	find(path("named.yaml"), "PETSTORE_CONFIG", "debug")
	options.File = write(t, path("flag.yaml"), "log: {level: error}")
	find(path("flag.yaml"), "command line", "error")

	t.Setenv("PETSTORE_CONFIG", "none.yaml")
	checkProblems(t, Options{SearchPaths: options.SearchPaths}, "none.yaml (PETSTORE_CONFIG): cannot be read: no such file or directory")
	t.Setenv("PETSTORE_CONFIG", "")
	below := path("a.yaml/petstore.yaml")
	checkProblems(t, Options{SearchPaths: []string{below}}, below+" (default): cannot be read: not a directory")
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

func TestExampleAndEmptyFilesHoldTheDefaults(t *testing.T) {
	t.Parallel()
	wantDefaults(t, Options{File: "petstore.example.yaml"})
	for extension, texts := range map[string][]string{
		"yaml": {"", "# nothing\n", "---\n", "server:\n", "\uFEFFlog:\n"}, "toml": {"", "[server]"}, "json": {"{}", `{"server": null}`},
	} {
		for _, text := range texts {
			wantDefaults(t, Options{File: write(t, filepath.Join(t.TempDir(), "petstore."+extension), text)})
		}
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

func TestFileMayUseAliasesAndOtherCase(t *testing.T) {
	t.Parallel()
	got := explain(t, Options{File: writeConfig(t, `
Server:
  READ_timeout: &timeout 7s
  idle_timeout: *timeout
  trusted_proxies: [&proxy 10.0.0.1, *proxy]
`)})
	for key, want := range map[string]string{"server.read_timeout": "7s", "server.idle_timeout": "7s", "server.trusted_proxies": "10.0.0.1,10.0.0.1"} {
		if got[key].Text != want {
			t.Errorf("%s: got %q, want %q", key, got[key].Text, want)
		}
	}
}

func TestOtherVariablesAreIgnored(t *testing.T) {
	for _, name := range []string{
		"LOG_LEVEL", "PETSTORE_TEST_POSTGRES_DSN",
		// of a Kubernetes service named petstore, petstore-admin or petstore-api
		"PETSTORE_SERVICE_HOST", "PETSTORE_SERVICE_PORT_HTTP", "PETSTORE_PORT", "PETSTORE_PORT_80_TCP", "PETSTORE_ADMIN_SERVICE_HOST",
		"PETSTORE_ADMIN_SERVICE_PORT", "PETSTORE_ADMIN_SERVICE_PORT_WEB", "PETSTORE_ADMIN_PORT", "PETSTORE_API_PORT_80_TCP_ADDR",
	} {
		t.Setenv(name, "tcp://10.96.0.11:9090")
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
