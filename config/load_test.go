package config

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

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
	want := defaults(t)
	want.Server.Address = ":80"
	want.Server.ReadTimeout, want.Server.IdleTimeout = 1500*time.Millisecond, 1500*time.Millisecond
	want.Server.TrustedProxies = []string{"10.0.0.0/8", "::1"}
	want.Admin.Address = ""
	want.Database.DSN = "/var/lib/pets @ home.db"
	want.Database.MaxOpenConns = 16
	want.Database.Migrate = false
	texts := map[string]string{
		"server.address":          ":80",
		"server.read_timeout":     "1.5s",
		"server.idle_timeout":     "1.5s",
		"server.trusted_proxies":  "10.0.0.0/8, ::1",
		"admin.address":           "",
		"database.dsn":            "/var/lib/pets @ home.db",
		"database.max_open_conns": "16",
		"database.migrate":        "false",
	}
	file := writeConfig(t, `
Server:
  address: :80
  READ_timeout: &timeout 1.5s
  idle_timeout: *timeout
  trusted_proxies: [10.0.0.0/8, "::1"]
admin: {address: ""}
database:
  dsn: /var/lib/pets @ home.db
  max_open_conns: 16
  migrate: False
`)
	others := viper.New()
	others.SetConfigFile(file)
	toml, json := filepath.Join(t.TempDir(), "petstore.toml"), filepath.Join(t.TempDir(), "petstore.json")
	check(t, errors.Join(others.ReadInConfig(), others.WriteConfigAs(toml), others.WriteConfigAs(json)))
	for name, options := range map[string]Options{
		"YAML": {File: file}, "TOML": {File: toml}, "JSON": {File: json}, "environment": {}, "command line": {Overrides: texts},
	} {
		t.Run(name, func(t *testing.T) {
			for key, text := range texts {
				if name == "environment" {
					t.Setenv(byKey[key].variable, text)
				}
			}
			wantConfig(t, want, options)
		})
	}
}

// Texts that are no durations are tested in TestValuesAreCheckedByTheirRules.
func TestParseDurationAcceptsDays(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]time.Duration{
		"90d": 90 * 24 * time.Hour, "0d": 0, "007d": 7 * 24 * time.Hour, "36h": 36 * time.Hour, "30m": 30 * time.Minute, "1h30m": 90 * time.Minute,
		"0": 0, "-1h": -time.Hour,
	} {
		if got, err := ParseDuration(text); err != nil || got != want {
			t.Errorf("%q: got %v, %v; want %v", text, got, err, want)
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
	directory := filepath.Join(t.TempDir(), "conf.yaml")
	check(t, os.Mkdir(directory, 0o700))
	checkProblems(t, Options{File: directory}, directory+" (command line): cannot be read: is a directory")
	const (
		unread  = "FILE (command line): cannot be read: "
		format  = "its name must end in .yaml, .yml, .toml or .json"
		unknown = " (FILE): no such setting; "
		list    = "petstore config lists all"
		section = " (FILE): a section, not a setting; name one of its settings, such as "
		twice   = " is there more than once, since upper and lower case are the same: keep one"
	)
	for _, test := range []struct{ name, text, want string }{
		{"petstore.conf", "{}", unread + format},
		{"petstore", "", unread + format},
		{"a.ini", "[log]", unread + format},
		{"a.env", "log=debug", unread + format},
		{"a.yaml", "server:\n\taddress: x", unread + "yaml: line 2: found character that cannot start any token"},
		{"a.toml", "[server]\naddress = :80", unread + "toml: incomplete number"},
		{"a.json", `{"server": {"address": ":80",}}`, unread + `jsontext: invalid character ',' at start of value within "/server" after offset 28`},
		{"a.yaml", "server", unread + "yaml: unmarshal errors: line 1: cannot unmarshal !!str (hidden) into map[string]interface {}"},
		{"a.yml", "- server", unread + "yaml: unmarshal errors: line 1: cannot unmarshal !!seq into map[string]interface {}"},
		{"a.yaml", "log:\n  level: warn\n  level: info", unread + `yaml: unmarshal errors: line 3: mapping key "level" already defined at line 2`},
		{"a.yaml", "---\nlog: {level: warn}\n---\nlog: {format: console}", unread + "it has a second document: remove the line --- before it"},
		{"a.yaml", "log: {level: warn}\n---\n\t", unread + "yaml: line 3: found character that cannot start any token"},
		{"a.toml", "[log]\nlevel = 'warn'\nlevel = 'info'", unread + "toml: key level is already defined"},
		{"a.json", `{"log": {"level": "warn"}, "log": {"format": "console"}}`, unread + `jsontext: duplicate object member name "log"`},
		{"a.json", `{"log": {"level": "warn"}, "LOG": {"format": "console"}}`, unread + "log" + twice},
		{"a.yaml", "Server: {address: ':1'}\nSERVER: {max_connections: 1}", unread + "server" + twice},
		{"a.yaml", "log: {level: warn, Level: info}", unread + "log.level" + twice},
		{"a.yaml", "log: {level: warn}\nlog.level: info", unread + "log.level" + twice},
		{"a.toml", "[log]\nlevel = 'warn'\n[LOG]\nformat = 'console'", unread + "log" + twice},

		{"a.yaml", "server: {adress: x}", "server.adress" + unknown + "did you mean server.address?"},
		{"a.yaml", "databse: {dsn: x}", "databse.dsn" + unknown + "did you mean database.dsn?"},
		{"a.yaml", "log: {output: x}", "log.output" + unknown + list},
		{"a.yaml", "level: x", "level" + unknown + list},
		{"a.yaml", "log: info", "log" + section + "log.level"},
		{"a.yaml", "server: [x]", "server" + section + "server.address"},
		{"a.yaml", "log: {log: {level: warn}}", "log.log.level" + unknown + list},
		{"a.yaml", "log:\n  \"a\\nb\": warn", hidden + unknown + list},

		// types are not converted
		{"a.yaml", "server: {address: 8080}", "server.address = 8080 (FILE): must be text; put it in quotes"},
		{"a.yaml", "server: {address: true}", "server.address = true (FILE): must be text; put it in quotes"},
		{"a.yaml", "server: {address: [a, b]}", `server.address = ["a","b"] (FILE): must be text; put it in quotes`},
		{"a.yaml", "server: {address: {}}", "server.address = {} (FILE): must be text; put it in quotes"},
		{"a.yaml", "server: {address: 2030-12-05}", `server.address = "2030-12-05T00:00:00Z" (FILE): must be text; put it in quotes`},
		{"a.yaml", "server: {address: ~}", "server.address (FILE): has no value; write one, or leave the setting out"},
		{"a.yaml", "server: {idle_timeout: 10}", "server.idle_timeout = 10 (FILE): must be a duration with its unit, such as 500ms, 15s, 2m or 1d"},
		{
			"a.yaml", "server: {idle_timeout: soon}",
			`server.idle_timeout = "soon" (FILE): must be a duration with its unit, such as 500ms, 15s, 2m or 1d`,
		},
		{"a.yaml", "database: {max_open_conns: '4'}", `database.max_open_conns = "4" (FILE): must be a whole number in plain digits`},
		{"a.yaml", "database: {max_open_conns: 4.5}", "database.max_open_conns = 4.5 (FILE): must be a whole number in plain digits"},
		{"a.yaml", "database: {migrate: 1}", "database.migrate = 1 (FILE): must be true or false"},
		{"a.yaml", "database: {migrate: 'true'}", `database.migrate = "true" (FILE): must be true or false`},
		{"a.yaml", "server: {trusted_proxies: 10.0.0.300}", `server.trusted_proxies = "10.0.0.300" (FILE): ` + remedies["ip|cidr"]},
		{"a.yaml", "server: {trusted_proxies: [10.0.0.1, 7]}", `server.trusted_proxies = ["10.0.0.1",7] (FILE): must be a list of texts`},
	} {
		t.Run(test.name+" "+test.text, func(t *testing.T) {
			t.Parallel()
			path := write(t, filepath.Join(t.TempDir(), test.name), test.text)
			checkProblems(t, Options{File: path}, strings.ReplaceAll(test.want, "FILE", path))
		})
	}
}

func TestNoFileAndEmptyFilesHoldTheDefaults(t *testing.T) {
	t.Parallel()
	wantDefaults(t, Options{})
	for extension, texts := range map[string][]string{
		"yaml": {"", "# nothing\n", "---\n", "server:\n", "\uFEFFlog:\n"}, "toml": {"", "[server]"}, "json": {"{}", `{"server": null}`},
	} {
		for _, text := range texts {
			wantDefaults(t, Options{File: write(t, filepath.Join(t.TempDir(), "petstore."+extension), text)})
		}
	}
}

func TestOtherVariablesAreIgnored(t *testing.T) {
	for _, name := range []string{
		"LOG_LEVEL", "PETSTORE_TEST_POSTGRES_DSN",
		// Kubernetes sets these variables for a service named petstore, petstore-admin or petstore-api.
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
	t.Setenv("PETSTORE_AUTH_BOOTSTRAP_KEY_FILE", filepath.Join(t.TempDir(), "none"))
	t.Setenv("PETSTORE_DATABASE_DSN", "pets.db")
	checkProblems(
		t, Options{},
		"PETSTORE_AUTH_BOOTSTRAP_KEY_FILE (environment): must name a file that can be read: no such file or directory",
		"database.dsn = (hidden) (PETSTORE_DATABASE_DSN_FILE): set either PETSTORE_DATABASE_DSN or PETSTORE_DATABASE_DSN_FILE",
	)
}

// FuzzFile loads a file with any text. Either the settings are valid, or each problem is one line.
func FuzzFile(f *testing.F) {
	example, err := os.ReadFile("petstore.example.yaml")
	check(f, err)
	for _, seed := range []string{
		string(example), "", "server:\n  address: :8080\n", "server: {address: [1, 2]}", "a: &a {b: *a}", "--- \n---\n",
		"server:\n  address: 1\n  address: 2\n", "database: {driver: postgres, dsn: 'postgres://u:secret@h/d'}",
		"rate_limit: {requests: -1, window: 1h1ms}", "cache: {max_bytes: 1e3}", "? [a]\n: b", "server: {trusted_proxies: [10.0.0.0/8, x]}",
		"log: {level: \"\x00\"}", "api: {get_pet_sunset: 2030-02-30}", "<<: {server: 1}", "!!binary x", "\xff",
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
		}
	})
}
