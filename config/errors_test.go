package config

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestLoadReturnsAllProblemsAtOnce(t *testing.T) {
	t.Parallel()
	path := writeConfig(t, `
server:
  address: 8080
  adress: 127.0.0.1:8080
  read_timeout: 10
  write_timeout: 5s
databse: {dsn: other.db}
docs: {enabled: yes}
`)
	_, err := Load(Options{
		File: path,
		Environ: []string{
			"PETSTORE_SERVER_ADDRESS=localhost",
			"PETSTORE_LOG_LEVLE=debug",
			"PETSTORE_DB_DSN=/data/pets.db",
			"PETSTORE_DATABASE_MAX_OPEN_CONNS=many",
		},
		Overrides: map[string]string{"log.format": "xml", "admin.port": "1"},
	})
	want := strings.ReplaceAll(`the configuration is not valid:
  admin.port (command line): no such setting; admin has address
  database.max_open_conns = "many" (PETSTORE_DATABASE_MAX_OPEN_CONNS): must be a whole number in plain digits
  databse (FILE:7): no such section; there are server, admin, database, auth, cache, rate_limit, cors, api, docs, log, tracing
  db_dsn (PETSTORE_DB_DSN): no such section; there are server, admin, database, auth, cache, rate_limit, cors, api, docs, log, tracing
  docs.enabled = "yes" (FILE:8): must be true or false
  log.format = "xml" (command line): must be console or json
  log_levle (PETSTORE_LOG_LEVLE): no such setting; log has level, format
  server.address = 8080 (FILE:3): must be text; put it in quotes
  server.address = "localhost" (PETSTORE_SERVER_ADDRESS): must be host:port with a port from 0 to 65535, such as 127.0.0.1:8080
  server.adress (FILE:4): no such setting; server has address, read_header_timeout, read_timeout, write_timeout, idle_timeout, request_timeout, shutdown_delay, shutdown_timeout, max_connections, trusted_proxies, tls_cert_file, tls_key_file, production_url, staging_url
  server.read_timeout = 10 (FILE:5): must be a duration with its unit, such as 15s or 2m
  server.write_timeout = "5s" (FILE:6): must be longer than server.request_timeout = "10s" (default)`, "FILE", path)
	if diff := cmp.Diff(want, err.Error()); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
}

func TestFileMustBeAYAMLConfiguration(t *testing.T) {
	t.Parallel()
	named := func(name, text string) string {
		path := filepath.Join(t.TempDir(), name)
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		return path
	}
	directory := filepath.Join(t.TempDir(), "conf.yaml")
	if err := os.Mkdir(directory, 0o700); err != nil {
		t.Fatal(err)
	}
	for name, test := range map[string]struct{ path, want string }{
		"missing":       {filepath.Join(t.TempDir(), "none.yaml"), "cannot be read: no such file or directory"},
		"directory":     {directory, "cannot be read: is a directory"},
		"other format":  {named("petstore.json", "{}"), "must be a YAML file with a name that ends in .yaml or .yml"},
		"no extension":  {named("petstore", ""), "must be a YAML file with a name that ends in .yaml or .yml"},
		"malformed":     {named("a.yaml", "server:\n\taddress: x"), "is not valid YAML: line 2: found character that cannot start any token"},
		"text":          {named("b.yaml", "server"), "must hold sections such as server: with their settings below, indented"},
		"list":          {named("c.yml", "- server"), "must hold sections such as server: with their settings below, indented"},
		"two documents": {named("d.yaml", "log: {level: warn}\n---\nlog: {level: debug}"), "must hold one document; a second one begins in line 2"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			checkProblems(t, Options{File: test.path}, problem("", "", test.path, test.want))
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
}

func TestYAMLTypesAreNotConverted(t *testing.T) {
	t.Parallel()
	const (
		quoted   = "must be text; put it in quotes"
		number   = "must be a whole number in plain digits"
		boolean  = "must be true or false"
		list     = "must be a list of texts, none of them empty or with a comma"
		duration = "must be a duration with its unit, such as 15s or 2m"
		date     = "must be a time such as 2030-12-05T00:00:00Z or a date such as 2030-12-05"
		none     = "has no value; write one, or leave the setting out"
	)
	for _, test := range []struct{ key, yaml, text, remedy string }{
		{"server.address", "8080", "8080", quoted},
		{"server.address", "true", "true", quoted},
		{"server.address", "[a, b]", "a list", quoted},
		{"server.address", "{host: a}", "a section", quoted},
		{"server.address", "2030-12-05", "2030-12-05", quoted},
		{"server.address", "", "", none},
		{"server.address", "~", "", none},
		{"server.idle_timeout", "10", "10", duration},
		{"server.idle_timeout", "true", "true", duration},
		{"server.idle_timeout", `"10"`, `"10"`, duration},
		{"server.idle_timeout", "soon", `"soon"`, duration},
		{"database.max_open_conns", `"4"`, `"4"`, number},
		{"database.max_open_conns", "4.5", "4.5", number},
		{"database.max_open_conns", "0x10", `"0x10"`, number},
		{"database.migrate", "1", "1", boolean},
		{"database.migrate", `"true"`, `"true"`, boolean},
		{"database.migrate", "on", `"on"`, boolean},
		{"server.trusted_proxies", "10.0.0.1", `"10.0.0.1"`, list},
		{"server.trusted_proxies", "[10.0.0.1, 7]", "7", list},
		{"server.trusted_proxies", "{a: b}", "a section", list},
		{"api.get_pet_sunset", "2030", "2030", date},
		{"api.get_pet_sunset", "2030-12-05 10:00:00", `"2030-12-05 10:00:00"`, date},
	} {
		t.Run(test.key+"="+test.yaml, func(t *testing.T) {
			t.Parallel()
			section, name, _ := strings.Cut(test.key, ".")
			path := writeConfig(t, section+":\n  "+name+": "+test.yaml)
			checkProblems(t, Options{File: path}, problem(test.key, test.text, path+":2", test.remedy))
		})
	}
}

func TestKeysMustBeUniqueAndKnown(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct{ text, key, line, remedy string }{
		"setting":   {"log:\n  level: warn\n  level: info", "log.level", ":3", "is written twice; the other is in line 2"},
		"section":   {"log:\n  level: warn\nlog:\n  format: json", "log", ":3", "is written twice; the other is in line 1"},
		"dotted":    {"log:\n  level: warn\nlog.level: info", "log.level", ":3", "is written twice; the other is in line 2"},
		"no case":   {"log:\n  Level: warn", "log.Level", ":2", "no such setting; log has level, format"},
		"no map":    {"log: info", "log", ":1", "is a section: write its settings below it, indented"},
		"too deep":  {"log:\n  log:\n    level: warn", "log.log", ":2", "no such setting; log has level, format"},
		"control":   {"log:\n  \"a\\nb\": warn", `log.a\nb`, ":2", "no such setting; log has level, format"},
		"merge key": {"log:\n  <<: {level: warn}", "log.<<", ":2", "no such setting; log has level, format"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			path := writeConfig(t, test.text)
			checkProblems(t, Options{File: path}, problem(test.key, "", path+test.line, test.remedy))
		})
	}
}

func TestEveryInvalidElementIsReported(t *testing.T) {
	t.Parallel()
	const key = "server.trusted_proxies"
	checkProblems(t, Options{Overrides: map[string]string{key: "here,10.0.0.1,there"}},
		problem(key, `"here"`, "command line", rules["ip|cidr"].remedy),
		problem(key, `"there"`, "command line", rules["ip|cidr"].remedy))
	path := writeConfig(t, `server: {trusted_proxies: [7, "", here, "10.0.0.1,10.0.0.2"]}`)
	const list = "must be a list of texts, none of them empty or with a comma"
	checkProblems(t, Options{File: path},
		problem(key, "7", path+":1", list), problem(key, `""`, path+":1", list), problem(key, `"10.0.0.1,10.0.0.2"`, path+":1", list))
}

func TestNamesAreExact(t *testing.T) {
	t.Parallel()
	setting, section := "no such setting; log has level, format", "no such section; there are "+strings.Join(sections, ", ")
	for name, test := range map[string]struct {
		options     Options
		key, source string
		remedy      string
	}{
		"key in upper case":      {Options{Overrides: map[string]string{"LOG.LEVEL": "info"}}, "LOG.LEVEL", "command line", section},
		"variable in lower case": {Options{Environ: []string{"PETSTORE_log_level=info"}}, "log_level", "PETSTORE_log_level", setting},
		"key of a section":       {Options{Overrides: map[string]string{"log": "info"}}, "log", "command line", setting},
		"variable of a section":  {Options{Environ: []string{"PETSTORE_LOG=info"}}, "log", "PETSTORE_LOG", setting},
		"key below a setting":    {Options{Overrides: map[string]string{"log.level.x": "info"}}, "log.level.x", "command line", setting},
		"no key":                 {Options{Overrides: map[string]string{"": "info"}}, "", "command line", section},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			checkProblems(t, test.options, problem(test.key, "", test.source, test.remedy))
		})
	}
}

func TestErrorsHideSecrets(t *testing.T) {
	t.Parallel()
	const dsn = "postgres://pets:hunter2@db/pets"
	file := filepath.Join(t.TempDir(), "dsn")
	if err := os.WriteFile(file, []byte(dsn), 0o600); err != nil {
		t.Fatal(err)
	}
	for name, options := range map[string]Options{
		"file":                 {File: writeConfig(t, "database: {dsn: '"+dsn+"'}")},
		"file, list":           {File: writeConfig(t, "database: {dsn: ['"+dsn+"']}")},
		"file, number":         {File: writeConfig(t, "database: {dsn: !!int '"+dsn+"'}")},
		"file, unknown key":    {File: writeConfig(t, "database: {password: hunter2}")},
		"environment":          {Environ: []string{"PETSTORE_DATABASE_DSN=" + dsn}},
		"environment, unknown": {Environ: []string{"PETSTORE_DATABASE_PASSWORD=hunter2"}},
		"command line":         {Overrides: map[string]string{"database.dsn": dsn}},
		"in file":              {Environ: []string{"PETSTORE_DATABASE_DSN_FILE=" + file}},
		"in place of a file":   {Environ: []string{"PETSTORE_DATABASE_DSN_FILE=" + dsn}},
		"twice":                {Environ: []string{"PETSTORE_DATABASE_DSN=" + dsn, "PETSTORE_DATABASE_DSN_FILE=" + file}},
		"in a URL":             {Overrides: map[string]string{"server.production_url": "https://pets:hunter2@example.com"}},
		"after a blank":        {Environ: []string{"PETSTORE_DATABASE_DRIVER=postgres", "PETSTORE_DATABASE_DSN= " + dsn}},
		"keywords":             {Overrides: map[string]string{"database.dsn": " Host=db password=hunter2"}},
		"name of the file":     {File: dsn},
		"no scheme":            {File: "pets:hunter2@db/pets"},
		"keywords as the name": {File: "host=db password=hunter2"},
		"malformed key":        {Environ: []string{"PETSTORE_AUTH_BOOTSTRAP_KEY=petstore_hunter2"}},
		"in another setting":   {Overrides: map[string]string{"server.tls_key_file": "https://pets:hunter2@example.com"}},
		"in a list":            {Overrides: map[string]string{"server.trusted_proxies": "https://pets:hunter2@example.com"}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			_, err := Load(options)
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

func TestSecretHasOneSource(t *testing.T) {
	t.Parallel()
	const remedy = "set either PETSTORE_DATABASE_DSN or PETSTORE_DATABASE_DSN_FILE"
	checkProblems(t, Options{Environ: []string{"PETSTORE_DATABASE_DSN=a.db", "PETSTORE_DATABASE_DSN_FILE=b"}},
		problem("database.dsn", "(hidden)", "PETSTORE_DATABASE_DSN_FILE", remedy))
	checkProblems(t, Options{Environ: []string{"PETSTORE_DATABASE_DSN_FILE=" + filepath.Join(t.TempDir(), "none")}},
		problem("database.dsn", "(hidden)", "PETSTORE_DATABASE_DSN_FILE", "must name a file that can be read: no such file or directory"))
}

func TestFileOfASecretMustHaveIt(t *testing.T) {
	t.Parallel()
	empty := filepath.Join(t.TempDir(), "empty")
	if err := os.WriteFile(empty, []byte("\r\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, key := range []string{"auth.bootstrap_key", "database.dsn"} {
		name := "PETSTORE_" + strings.ToUpper(strings.ReplaceAll(key, ".", "_")) + "_FILE"
		checkProblems(t, Options{Environ: []string{name + "=" + empty}}, problem(key, "(hidden)", name, "must name a file that is not empty"))
		checkProblems(t, Options{Environ: []string{name + "="}}, problem(key, "(hidden)", name, "must name a file that can be read: no such file or directory"))
	}
}

func TestOnlySecretsAreReadFromFiles(t *testing.T) {
	t.Parallel()
	checkProblems(t, Options{Environ: []string{"PETSTORE_LOG_LEVEL_FILE=/run/level"}},
		problem("log_level_file", "", "PETSTORE_LOG_LEVEL_FILE", "no such setting; log has level, format"))
}

func FuzzFileIsLoadedOrRejected(f *testing.F) {
	example, err := os.ReadFile("petstore.example.yaml")
	if err != nil {
		f.Fatal(err)
	}
	for _, seed := range []string{string(example), "log: &a {level: *a}", "server: {trusted_proxies: &b [*b]}", "? [a]\n: b", "\"\": !!int x"} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, text string) {
		_, err := Load(Options{File: writeConfig(t, text)})
		if err == nil {
			return
		}
		invalid, ok := errors.AsType[*InvalidError](err)
		if !ok || len(invalid.Problems) == 0 {
			t.Fatalf("got %v, want an InvalidError with problems", err)
		}
		if lines := strings.Count(err.Error(), "\n"); lines != len(invalid.Problems) {
			t.Errorf("got %d lines for %d problems: %v", lines, len(invalid.Problems), err)
		}
	})
}

func problem(key, text, source, remedy string) Problem {
	return Problem{Value{key, text, source}, remedy}
}

// checkProblems compares the problems that Load returns with want.
func checkProblems(t *testing.T, options Options, want ...Problem) {
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
