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
	t.Setenv("PETSTORE_CONFIG", "")
	const format = "must be a file in YAML, TOML or JSON, with a name that ends in .yaml, .yml, .toml or .json"
	checkProblems(t, Options{SearchPaths: []string{path}}, "PETSTORE_CONFIG: "+format)
	t.Setenv("PETSTORE_CONFIG", "none.yaml")
	checkProblems(t, Options{SearchPaths: []string{path}}, "PETSTORE_CONFIG: none.yaml: cannot be read: no such file or directory")
}

func TestFoundFileThatCannotBeReadIsAnError(t *testing.T) {
	t.Parallel()
	path := filepath.Join(writeConfig(t, ""), "petstore.yaml") // below a file
	checkProblems(t, Options{SearchPaths: []string{path}}, path+": cannot be read: not a directory")
}

func TestFileMustBeAConfiguration(t *testing.T) {
	t.Parallel()
	const format = "must be a file in YAML, TOML or JSON, with a name that ends in .yaml, .yml, .toml or .json"
	directory := filepath.Join(t.TempDir(), "conf.yaml")
	if err := os.Mkdir(directory, 0o700); err != nil {
		t.Fatal(err)
	}
	named := func(name, text string) string { return write(t, filepath.Join(t.TempDir(), name), text) }
	for name, test := range map[string]struct{ path, want string }{
		"missing":         {filepath.Join(t.TempDir(), "none.yaml"), "cannot be read: no such file or directory"},
		"directory":       {directory, "cannot be read: is a directory"},
		"other format":    {named("petstore.ini", "{}"), format},
		"unknown format":  {named("petstore.conf", "{}"), format},
		"no extension":    {named("petstore", ""), format},
		"malformed YAML":  {named("a.yaml", "server:\n\taddress: x"), "is not valid: yaml: line 2: found character that cannot start any token"},
		"malformed TOML":  {named("a.toml", "[server]\naddress = :80"), "is not valid: line 2: toml: incomplete number"},
		"malformed JSON":  {named("a.json", `{"server": {"address": ":80",}}`), `is not valid: jsontext: invalid character ',' at start of value within "/server" after offset 28`},
		"text":            {named("b.yaml", "server"), "is not valid: yaml: unmarshal errors: line 1: cannot unmarshal !!str (hidden) into sections with settings"},
		"list":            {named("c.yml", "- server"), "is not valid: yaml: unmarshal errors: line 1: cannot unmarshal !!seq into sections with settings"},
		"two documents":   {named("d.yaml", "log: {level: warn}\n---\nlog: {level: debug}"), "is not valid: there must be one document"},
		"YAML twice":      {named("e.yaml", "log:\n  level: warn\n  level: info"), `is not valid: yaml: unmarshal errors: line 3: mapping key "level" already defined at line 2`},
		"TOML twice":      {named("e.toml", "[log]\nlevel = 'warn'\nlevel = 'info'"), "is not valid: toml: key level is already defined"},
		"JSON twice":      {named("e.json", `{"log": {"level": "warn", "level": "info"}}`), `is not valid: jsontext: duplicate object member name "level" within "/log"`},
		"section twice":   {named("f.yaml", "log: {level: warn}\nLog: {format: json}"), `is not valid: the key "log" is written twice`},
		"in another case": {named("g.yaml", "log: {level: warn, Level: info}"), `is not valid: the key "log.level" is written twice`},
		"with a dot":      {named("h.yaml", "log: {level: warn}\nlog.level: info"), `is not valid: the key "log.level" is written twice`},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			checkProblems(t, Options{File: test.path}, test.path+": "+test.want)
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
	for name, text := range map[string]string{"empty.toml": "", "section.toml": "[server]", "empty.JSON": "{}", "null.json": `{"server": null}`} {
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
		none     = "has no value; write one, or leave the setting out"
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
		"other name":       {"log:\n  output: x", "log.output", "setting; there are log.level, log.format"},
		"other section":    {"metrics:\n  port: x", "metrics.port", "section; there are server, admin, database, auth, cache, rate_limit, cors, docs, log, tracing"},
		"empty section":    {"metrics:\n", "metrics", "section; there are server, admin, database, auth, cache, rate_limit, cors, docs, log, tracing"},
		"no section":       {"level: x", "level", "section; there are server, admin, database, auth, cache, rate_limit, cors, docs, log, tracing"},
		"no map":           {"log: info", "log", "setting; there are log.level, log.format"},
		"too deep":         {"log:\n  log:\n    level: warn", "log.log.level", "setting; there are log.level, log.format"},
		"control":          {"log:\n  \"a\\nb\": warn", `log.a\nb`, "setting; there are log.level, log.format"},
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

func TestUnknownVariablesAndOverridesAreRejected(t *testing.T) {
	for name, test := range map[string]struct{ variable, key, want string }{
		"misspelt variable":      {"PETSTORE_SERVER_ADRESS", "", "PETSTORE_SERVER_ADRESS: no such setting; did you mean PETSTORE_SERVER_ADDRESS?"},
		"variable in lower case": {"PETSTORE_log_level", "", "PETSTORE_log_level: no such setting; did you mean PETSTORE_LOG_LEVEL?"},
		"other variable":         {"PETSTORE_DB_DSN", "", "PETSTORE_DB_DSN: no such section; there are server, admin, database, auth, cache, rate_limit, cors, docs, log, tracing"},
		"variable of a section":  {"PETSTORE_LOG", "", "PETSTORE_LOG: no such setting; there are PETSTORE_LOG_LEVEL, PETSTORE_LOG_FORMAT"},
		"file of no secret":      {"PETSTORE_LOG_LEVEL_FILE", "", "PETSTORE_LOG_LEVEL_FILE: no such setting; there are PETSTORE_LOG_LEVEL, PETSTORE_LOG_FORMAT"},
		"file of the settings":   {"PETSTORE_CONFG", "", "PETSTORE_CONFG: no such setting; did you mean PETSTORE_CONFIG?"},
		"key in upper case":      {"", "LOG.LEVEL", "LOG.LEVEL (command line): no such setting; did you mean log.level?"},
		"misspelt key":           {"", "database.dns", "database.dns (command line): no such setting; did you mean database.dsn?"},
		"key of a section":       {"", "log", "log (command line): no such setting; there are log.level, log.format"},
		"key below a setting":    {"", "log.level.x", "log.level.x (command line): no such setting; did you mean log.level?"},
		"no key":                 {"", "", " (command line): no such section; there are server, admin, database, auth, cache, rate_limit, cors, docs, log, tracing"},
	} {
		t.Run(name, func(t *testing.T) {
			if test.variable != "" {
				t.Setenv(test.variable, "hunter2")
				checkProblems(t, Options{}, test.want)
			} else {
				checkProblems(t, Options{Overrides: map[string]string{test.key: "hunter2"}}, test.want)
			}
		})
	}
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

func TestFileOfASecretMustHaveIt(t *testing.T) {
	folder := t.TempDir()
	empty := write(t, filepath.Join(folder, "empty"), "\r\n")
	for _, key := range []string{"auth.bootstrap_key", "database.dsn"} {
		t.Run(key, func(t *testing.T) {
			variable := byKey[key].variable
			problem := key + " = (hidden) (" + variable + "_FILE): "
			for path, want := range map[string]string{
				empty:                         "must name a file that is not empty",
				"":                            "must name a file that can be read: no such file or directory",
				filepath.Join(folder, "none"): "must name a file that can be read: no such file or directory",
			} {
				t.Setenv(variable+"_FILE", path)
				checkProblems(t, Options{}, problem+want)
			}
			t.Setenv(variable, "a.db")
			checkProblems(t, Options{}, problem+"set either "+variable+" or "+variable+"_FILE")
		})
	}
}

func TestErrorsHideSecrets(t *testing.T) {
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
		"after a blank":        {"PETSTORE_DATABASE_DSN= " + dsn, set("database.driver", "postgres")},
		"keywords":             {"", set("database.dsn", " Host=db password=hunter2")},
		"name of the file":     {"", Options{File: dsn}},
		"variable of the file": {"PETSTORE_CONFIG=" + dsn, Options{}},
		"no scheme":            {"", Options{File: "pets:hunter2@db/pets"}},
		"keywords as the name": {"", Options{File: "host=db password=hunter2"}},
		"malformed key":        {"PETSTORE_AUTH_BOOTSTRAP_KEY=petstore_hunter2", Options{}},
		"in another setting":   {"", set("server.tls_key_file", "https://pets:hunter2@example.com")},
		"in a list":            {"", set("server.trusted_proxies", "https://pets:hunter2@example.com")},
	} {
		t.Run(name, func(t *testing.T) {
			if variable, value, ok := strings.Cut(test.environ, "="); ok {
				t.Setenv(variable, value)
			}
			_, err := Load(test.options)
			if err == nil {
				t.Fatal("got no error")
			}
			if strings.Contains(err.Error(), "hunter2") {
				t.Errorf("the error contains the secret: %v", err)
			}
		})
	}
}

func TestErrorsNameTheFile(t *testing.T) {
	t.Parallel()
	const path = "none/shop@home.yaml"
	if _, err := Load(Options{File: path}); err == nil || !strings.Contains(err.Error(), path) {
		t.Errorf("got %v, want an error with %s", err, path)
	}
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
