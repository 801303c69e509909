package cli

import (
	"bytes"
	"encoding/json"
	"maps"
	"slices"
	"strings"
	"testing"

	"example.com/petstore/test/harness"

	"github.com/google/go-cmp/cmp"
)

func TestOutputJSONHasTheMembersOfTheHelp(t *testing.T) {
	t.Parallel()
	dir := harness.NewStore(t)
	harness.PrintedKey(t, dir, "create", "--name", "till 1")
	for command, want := range map[string][]string{
		"keys list":      {"createdAt", "expiresAt", "id", "lastFour", "lastUsedAt", "name", "readOnly", "revokedAt", "state"},
		"config":         {"setting", "source", "value"},
		"version":        {"commit", "goVersion", "version"},
		"migrate status": {"schemaVersion"},
	} {
		args := strings.Fields(command)
		output := harness.RunOK(t, dir, append(args, "--output", "json")...)
		text := output
		if command == "keys list" || command == "config" {
			var list []json.RawMessage
			if err := json.Unmarshal([]byte(output), &list); err != nil || len(list) == 0 {
				t.Errorf("%s: got %s, %v, want an array", command, output, err)
				continue
			}
			text = string(list[0])
		}
		var object map[string]any
		err := json.Unmarshal([]byte(text), &object)
		members := slices.Sorted(maps.Keys(object))
		if diff := cmp.Diff(want, members); err != nil || diff != "" {
			t.Errorf("%s: %v, members (-want +got)\n%s", command, err, diff)
		}
		_, help, _ := strings.Cut(strings.Join(strings.Fields(harness.RunOK(t, dir, append(args, "--help")...)), " "), "With --output json it prints ")
		help, _, _ = strings.Cut(help, " Usage:")
		for _, member := range members {
			if !strings.Contains(help, member) {
				t.Errorf("the help of %s does not name the member %s", command, member)
			}
		}
	}
}

func TestOutputIsATableByDefault(t *testing.T) {
	t.Parallel()
	dir := harness.NewStore(t)
	for _, command := range []string{"keys list", "config", "version", "migrate status"} {
		args := strings.Fields(command)
		if got, want := harness.RunOK(t, dir, append(args, "--output", "table")...), harness.RunOK(t, dir, args...); got != want || json.Valid([]byte(got)) {
			t.Errorf("%s: got %q with --output table and %q without, want the same table", command, got, want)
		}
		_, stderr, code := harness.Run(t, dir, append(args, "--output", "xml")...)
		if want := `petstore: invalid argument "xml" for "--output" flag: must be table or json` + "\n"; code != 2 || stderr != want {
			t.Errorf("%s: got code %d, stderr %q, want 2 and %q", command, code, stderr, want)
		}
	}
}

func TestConfigJSONHasEmptyValuesAndHidesSecrets(t *testing.T) {
	t.Parallel()
	output := harness.RunOK(t, t.TempDir(), "config", "--output", "json", "--set", "database.dsn=secret.db", "--set", "cors.allowed_origins=")
	type entry struct{ Setting, Value, Source string }
	var list []entry
	if err := json.Unmarshal([]byte(output), &list); err != nil {
		t.Fatal(err)
	}
	for _, want := range []entry{
		{"admin.address", "", "PETSTORE_ADMIN_ADDRESS"},
		{"database.dsn", "(hidden)", "command line"},
		{"server.request_timeout", "10s", "default"},
	} {
		if !slices.Contains(list, want) {
			t.Errorf("the list has no %+v:\n%s", want, output)
		}
	}
}

func TestCommandEndsQuietlyWhenTheReaderOfItsOutputHasExited(t *testing.T) {
	t.Parallel()
	dir := harness.SeededStore(t, "10")
	stdout := harness.BrokenPipe(t)
	for args, want := range map[string]struct {
		code   int
		stderr string
	}{
		"config":                      {1, ""},
		"keys list --output json":     {1, ""},
		"completion bash":             {1, ""},
		"export":                      {1, ""},
		"config --set log.level=loud": {2, "petstore: the configuration is not valid:\n  log.level = \"loud\" (command line): must be debug or info or warn or error\nwrite /dev/stdout: broken pipe\n"},
	} {
		cmd := harness.Command(t.Context(), dir, strings.Fields(args)...)
		var stderr bytes.Buffer
		cmd.Stdout, cmd.Stderr = stdout, &stderr
		_ = cmd.Run() // only the exit code matters
		if code := cmd.ProcessState.ExitCode(); code != want.code || stderr.String() != want.stderr {
			t.Errorf("petstore %s: got code %d, stderr %q, want %d and %q", args, code, stderr.String(), want.code, want.stderr)
		}
	}
}

// The Go runtime opens the null device for reading and writing in place of a closed output, as
// Python's subprocess.DEVNULL does.
func TestExportToNullOutputIsAnError(t *testing.T) {
	t.Parallel()
	dir := harness.SeededStore(t, "10")
	for _, redirection := range []string{">&-", ">/dev/null", "1<>/dev/null"} {
		cmd := harness.CommandAfter(t.Context(), dir, "exec "+redirection, "export", "-")
		var stderr bytes.Buffer
		cmd.Stderr = &stderr
		_ = cmd.Run() // only the exit code matters
		want := "petstore: standard output is closed or /dev/null: redirect it, or name a FILE\n"
		if code := cmd.ProcessState.ExitCode(); code != 1 || stderr.String() != want {
			t.Errorf("%s: got code %d, stderr %q, want 1 and %q", redirection, code, stderr.String(), want)
		}
	}
}

// A file that is opened while descriptor 1 or 2 is closed would get that descriptor, and the
// messages of the command in it.
func TestClosedDescriptorsLeaveTheStoreIntact(t *testing.T) {
	t.Parallel()
	for _, redirections := range []string{"<&- >&- 2>&-", ">&- 2>&-", "2>&-"} {
		dir := t.TempDir()
		cmd := harness.CommandAfter(t.Context(), dir, "exec "+redirections, "seed", "--count", "5000")
		if err := cmd.Run(); err != nil {
			t.Errorf("%s: %v", redirections, err)
		}
		wantAnimals(t, dir, 5000)
	}
}
