package cli

import (
	"encoding/json"
	"os"
	"regexp"
	"runtime"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"example.com/petstore/test/harness"
)

func TestCommandLine(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		args           []string
		code           int
		stdout, stderr string
	}{
		"help":                {[]string{"--help"}, 0, "petstore keys create --name", ""},
		"completion":          {[]string{"completion", "powershell"}, 0, "petstore", ""}, // see the package completion for the other shells
		"version":             {[]string{"version"}, 0, "petstore ", ""},
		"unknown command":     {[]string{"sell"}, 2, "", `unknown command "sell"`},
		"mistyped serve":      {[]string{"sevre", "--first-key"}, 2, "", `unknown command "sevre" for "petstore"; did you mean serve?`},
		"mistyped keys":       {[]string{"keys", "creat", "--name", "n"}, 2, "", `unknown command "creat" for "petstore keys"; did you mean create?`},
		"mistyped migrate":    {[]string{"migrate", "upp", "--set", "log.level=info"}, 2, "", `unknown command "upp" for "petstore migrate"; did you mean up?`},
		"flag of a group":     {[]string{"keys", "--name", "n"}, 2, "", "unknown flag: --name"},
		"unknown flag":        {[]string{"serve", "--port", "1"}, 2, "", "unknown flag: --port"},
		"surplus argument":    {[]string{"serve", "now"}, 2, "", "petstore serve takes no arguments"},
		"key without name":    {[]string{"keys", "create"}, 2, "", `required flag(s) "name" not set`},
		"key with empty name": {[]string{"keys", "create", "--name", ""}, 2, "", `invalid argument "" for "--name" flag: must be 1 to 100 characters`},
		"unknown setting":     {[]string{"serve", "--set", "server.port=1"}, 2, "", "server.port (command line): no such setting"},
		"--set without =":     {[]string{"serve", "--set", "admin.address"}, 2, "", "petstore: a --set has no =: write it as KEY=VALUE\n"},
		"bad setting":         {[]string{"serve", "--set", "log.level=loud"}, 2, "", `log.level = "loud" (command line): must be`},
		"empty --config":      {[]string{"serve", "--config", ""}, 2, "", `invalid argument "" for "--config" flag: must not be empty`},
		"empty --from":        {[]string{"copy", "--from", "", "--to", "new.db"}, 2, "", `invalid argument "" for "--from" flag: must not be empty`},
		"empty --to-file":     {[]string{"copy", "--to-file", ""}, 2, "", `invalid argument "" for "--to-file" flag: must not be empty`},
		"no such file":        {[]string{"serve", "--config", "none.yaml"}, 2, "", "none.yaml (command line): cannot be read"},
		"no store":            {[]string{"migrate", "status"}, 1, "", "open the store petstore.db: there is no such file: correct the path, or run petstore migrate up"},
		"no directory":        {[]string{"migrate", "up", "--set", "database.dsn=none/pets.db"}, 1, "", "there is no folder none: create it"},
		"hint with --config":  {[]string{"migrate", "status", "--config", "shop.yaml"}, 1, "", "run petstore --config shop.yaml migrate up"},
		"migration needed":    {[]string{"serve", "--set", "database.migrate=false"}, 1, "", "run petstore migrate up"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			dir := t.TempDir()
			harness.WriteFile(t, dir, "shop.yaml", "log: {level: warn}\n")
			stdout, stderr, code := harness.Run(t, dir, test.args...)
			if code != test.code || !strings.Contains(stdout, test.stdout) || !strings.Contains(stderr, test.stderr) {
				t.Errorf("got code %d, stdout %q, stderr %q; want %d, %q, %q", code, stdout, stderr, test.code, test.stdout, test.stderr)
			}
			if test.code != 0 && (stdout != "" || !strings.HasPrefix(stderr, "petstore: ")) {
				t.Errorf("got stdout %q, stderr %q; want an error and nothing else", stdout, stderr)
			}
			if _, err := os.Stat(harness.StorePath(dir)); err == nil && test.code == 2 {
				t.Error("a store was created")
			}
		})
	}
}

func TestCompletionOfSetListsTheSettings(t *testing.T) {
	t.Parallel()
	var settings []struct{ Setting string }
	if err := json.Unmarshal([]byte(harness.RunOK(t, t.TempDir(), "config", "--output", "json")), &settings); err != nil {
		t.Fatal(err)
	}
	var want strings.Builder
	for _, s := range settings[1:] { // --set cannot set the first one, the file
		want.WriteString(s.Setting + "=\n")
	}
	want.WriteString(":6\n") // no space, no names of files
	for _, args := range [][]string{{"serve", "--set", ""}, {"keys", "list", "--set", "log"}} {
		stdout, _, code := harness.Run(t, t.TempDir(), append([]string{"__complete"}, args...)...)
		if diff := cmp.Diff(want.String(), stdout); code != 0 || diff != "" {
			t.Errorf("%v: got code %d, want 0 (-want +got)\n%s", args, code, diff)
		}
	}
}

func TestVersionIsPrinted(t *testing.T) {
	t.Parallel()
	want := "petstore v0.0.0-test (commit test, " + runtime.Version() + ")\n"
	for _, arg := range []string{"version", "--version"} {
		if stdout, stderr, code := harness.Run(t, t.TempDir(), arg); code != 0 || stdout != want {
			t.Errorf("%s: got code %d, stdout %q, stderr %s; want 0 and %s", arg, code, stdout, stderr, want)
		}
	}
}

func TestConfigPrintsSettingsAndSources(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	stdout, stderr, code := harness.Run(t, dir, "config", "--set", "database.dsn=secret.db", "--set", "log.level=warn")
	for _, line := range []string{
		`SETTING +VALUE +SOURCE`,
		`server\.address +127\.0\.0\.1:0 +PETSTORE_SERVER_ADDRESS`,
		`server\.request_timeout +10s +default`,
		`database\.dsn +\(hidden\) +command line`,
		`log\.level +warn +command line`,
		`admin\.address +"" +PETSTORE_ADMIN_ADDRESS`,
	} {
		if !regexp.MustCompile(`(?m)^` + line + `$`).MatchString(stdout) {
			t.Errorf("the output has no line %s", line)
		}
	}
	if code != 0 || stderr != "" || strings.Contains(stdout, "secret") {
		t.Errorf("got code %d, stdout %s, stderr %q; want 0, no secret, no error", code, stdout, stderr)
	}
}

func TestConfigPrintsTheFileOfTheSettings(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	wantFirst := func(want, environ string, args ...string) {
		t.Helper()
		cmd := harness.Command(t.Context(), dir, append([]string{"config"}, args...)...)
		cmd.Env = append(cmd.Env, environ)
		output, err := cmd.Output()
		lines := strings.SplitN(string(output), "\n", 3)
		if err != nil || len(lines) < 3 || strings.Join(strings.Fields(lines[1]), " ") != want {
			t.Errorf("got %v, %s; want the line %s", err, output, want)
		}
		level := regexp.MustCompile(`(?m)^log\.level .*`).FindString(string(output))
		if file := strings.Fields(want)[1]; file != `""` && !strings.HasSuffix(level, " "+file) {
			t.Errorf("got %s, want the level of %s", level, file)
		}
	}
	wantFirst(`config "" default`, "")
	harness.WriteFile(t, dir, "petstore.yaml", "log: {level: warn}")
	harness.WriteFile(t, dir, "variable.toml", "log.level = 'warn'")
	harness.WriteFile(t, dir, "flag.json", `{"log": {"level": "warn"}}`)
	wantFirst("config petstore.yaml default", "")
	wantFirst("config variable.toml PETSTORE_CONFIG", "PETSTORE_CONFIG=variable.toml")
	wantFirst("config flag.json command line", "PETSTORE_CONFIG=variable.toml", "--config", "flag.json")
}

func TestConfigPrintsInvalidSettings(t *testing.T) {
	t.Parallel()
	key := "petstore_" + strings.Repeat("x", 48)
	stdout, stderr, code := harness.Run(t, t.TempDir(), "config", "--set", "log.level=loud", "--set", "auth.bootstrap_key="+key, "--set", "no.such=1")
	want := "petstore: the configuration is not valid:\n" +
		"  auth.bootstrap_key = (hidden) (command line): must be an API key as petstore keys create prints it: petstore_ and 49 letters and digits\n" +
		"  log.level = \"loud\" (command line): must be debug or info or warn or error\n" +
		"  no.such (command line): no such setting; "
	if code != 2 || !strings.HasPrefix(stderr, want) || !strings.Contains(stdout, "(invalid)") || strings.Contains(stdout+stderr, key) {
		t.Errorf("got code %d, stdout %s, stderr %s; want 2 and %s", code, stdout, stderr, want)
	}
}
