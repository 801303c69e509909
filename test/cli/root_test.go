package cli

import (
	"encoding/json"
	"os"
	"strings"
	"testing"

	"example.com/petstore/test/harness"

	"github.com/google/go-cmp/cmp"
)

func TestCommandLine(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		args           []string
		code           int
		stdout, stderr string
	}{
		"help":                {[]string{"--help"}, 0, "petstore keys create --name", ""},
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
		"no such file":        {[]string{"serve", "--config", "none.yaml"}, 2, "", "none.yaml: cannot be read"},
		"no store":            {[]string{"migrate", "status"}, 1, "", "open the store petstore.db: there is no such file: correct the path, or run petstore migrate up"},
		"no directory":        {[]string{"migrate", "up", "--set", "database.dsn=none/pets.db"}, 1, "", "there is no folder none: create it"},
		"migration needed":    {[]string{"serve", "--set", "database.migrate=false"}, 1, "", "run petstore migrate up"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			dir := t.TempDir()
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

func TestCompletionPrintsAScriptForEachShell(t *testing.T) {
	t.Parallel()
	for _, shell := range []string{"bash", "zsh", "fish", "powershell"} {
		if stdout, stderr, code := harness.Run(t, t.TempDir(), "completion", shell); code != 0 || !strings.Contains(stdout, "petstore") {
			t.Errorf("completion %s: got code %d, stderr %s; want 0 and a script", shell, code, stderr)
		}
	}
}

func TestCompletionOfSetListsTheSettings(t *testing.T) {
	t.Parallel()
	var settings []struct{ Setting string }
	if err := json.Unmarshal([]byte(harness.RunOK(t, t.TempDir(), "config", "--output", "json")), &settings); err != nil {
		t.Fatal(err)
	}
	var want strings.Builder
	for _, s := range settings {
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
