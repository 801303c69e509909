package main

import (
	"bytes"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/spf13/cobra"

	"example.com/petstore/config"
)

func TestCommandLine(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		args           []string
		code           int
		stdout, stderr string
	}{
		"help":              {[]string{"--help"}, 0, "petstore keys create --name", ""},
		"version":           {[]string{"version"}, 0, "petstore ", ""},
		"unknown command":   {[]string{"sell"}, 2, "", `unknown command "sell"`},
		"mistyped serve":    {[]string{"sevre", "--first-key"}, 2, "", `unknown command "sevre" for "petstore"; did you mean serve?`},
		"mistyped keys":     {[]string{"keys", "creat", "--name", "n"}, 2, "", `unknown command "creat" for "petstore keys"; did you mean create?`},
		"mistyped migrate":  {[]string{"migrate", "upp", "--set", "log.level=info"}, 2, "", `unknown command "upp" for "petstore migrate"; did you mean up?`},
		"flag of a group":   {[]string{"keys", "--name", "n"}, 2, "", "unknown flag: --name"},
		"unknown flag":      {[]string{"serve", "--port", "1"}, 2, "", "unknown flag: --port"},
		"surplus argument":  {[]string{"serve", "now"}, 2, "", `unknown command "now"`},
		"key without name":  {[]string{"keys", "create"}, 2, "", `required flag(s) "name" not set`},
		"key of no name":    {[]string{"keys", "create", "--name", ""}, 2, "", `invalid argument "" for "--name" flag: must be 1 to 100 characters`},
		"unknown setting":   {[]string{"serve", "--set", "server.port=1"}, 2, "", "server.port (command line): no such setting"},
		"set to nothing":    {[]string{"serve", "--set", "admin.address"}, 2, "", "petstore: --set must be KEY=VALUE, and one has no =\n"},
		"bad setting":       {[]string{"serve", "--set", "log.level=loud"}, 2, "", `log.level = "loud" (command line): must be`},
		"no such file":      {[]string{"serve", "--config", "none.yaml"}, 2, "", "none.yaml: cannot be read"},
		"no store yet":      {[]string{"migrate", "status"}, 1, "", "open the store petstore.db: there is no such file: correct the path, or run petstore migrate up"},
		"no folder for it":  {[]string{"migrate", "up", "--set", "database.dsn=none/pets.db"}, 1, "", "there is no folder none: create it"},
		"migration refused": {[]string{"serve", "--set", "database.migrate=false"}, 1, "", "run petstore migrate up"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			folder := t.TempDir()
			stdout, stderr, code := output(t, folder, test.args...)
			if code != test.code || !strings.Contains(stdout, test.stdout) || !strings.Contains(stderr, test.stderr) {
				t.Errorf("code %d, stdout %q, stderr %q; want %d, %q, %q", code, stdout, stderr, test.code, test.stdout, test.stderr)
			}
			if test.code != 0 && (stdout != "" || !strings.HasPrefix(stderr, "petstore: ")) {
				t.Errorf("stdout %q, stderr %q; want one error", stdout, stderr)
			}
			if _, err := os.Stat(database(folder)); err == nil && test.code == 2 {
				t.Error("a store was created")
			}
		})
	}
}

func TestMigrationMakesTheStore(t *testing.T) {
	t.Parallel()
	folder := t.TempDir()
	for _, args := range [][]string{{"migrate", "up"}, {"migrate", "up"}, {"migrate", "status"}} {
		if stdout, stderr, code := output(t, folder, args...); code != 0 {
			t.Fatalf("%v: code %d, stdout %q, stderr %q", args, code, stdout, stderr)
		}
	}
}

func TestStoreWithoutPermissionIsRefused(t *testing.T) {
	t.Parallel()
	folder := folderWithStore(t)
	for name, mode := range map[string]os.FileMode{"unreadable": 0o000, "unwritable": 0o444} {
		if err := os.Chmod(database(folder), mode); err != nil {
			t.Fatal(err)
		}
		stderr, code := outputAsNobody(t, folder, "keys", "create", "--name", "n")
		if code != 1 || !strings.Contains(stderr, "open the store petstore.db: permission denied: let this user") || strings.Count(stderr, "\n") != 1 {
			t.Errorf("%s: code %d, stderr %q", name, code, stderr)
		}
	}
}

// outputAsNobody runs the program as a user whom permissions bind; root they do not.
func outputAsNobody(t *testing.T, folder string, args ...string) (stderr string, code int) {
	t.Helper()
	cmd := command(t.Context(), folder, args...)
	if os.Getuid() == 0 {
		const nobody = 65534
		cmd.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: nobody, Gid: nobody}}
		cmd.Path = copyFor(t, nobody, folder)
		cmd.Env = append(cmd.Env, "GOCOVERDIR="+folder) // what make cover names is root's alone
	}
	var out, errs bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &errs
	if err := cmd.Run(); err != nil && cmd.ProcessState == nil {
		t.Fatal(err)
	}
	return errs.String(), cmd.ProcessState.ExitCode()
}

// copyFor makes the program and the folder something that a user can reach.
func copyFor(t *testing.T, user int, folder string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "petstore")
	// Not copied here: a process that another test starts meanwhile would have the file open for writing,
	// and it could not be run (go.dev/issue/22315).
	if out, err := exec.CommandContext(t.Context(), "cp", os.Args[0], path).CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	for _, reached := range []string{folder, filepath.Dir(folder), filepath.Dir(path), filepath.Dir(filepath.Dir(path))} {
		if err := os.Chmod(reached, 0o755); err != nil {
			t.Fatal(err)
		}
	}
	for _, owned := range []string{folder, database(folder)} {
		if err := os.Chown(owned, user, user); err != nil {
			t.Fatal(err)
		}
	}
	return path
}

func TestKeyThatCannotBeShownIsTold(t *testing.T) {
	t.Parallel()
	full, err := os.OpenFile("/dev/full", os.O_WRONLY, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer full.Close()
	for name, stdout := range map[string]*os.File{"a full disk": full, "a pipe without reader": deafPipe(t)} {
		for _, args := range [][]string{{"keys", "create", "--name", "n"}, {"serve", "--first-key"}} {
			cmd := command(t.Context(), t.TempDir(), args...)
			var errs bytes.Buffer
			cmd.Stdout, cmd.Stderr = stdout, &errs
			if err := cmd.Run(); err == nil || !strings.Contains(errs.String(), "was issued but could not be shown, revoke it") {
				t.Errorf("%v to %s: %v, %q", args, name, err, errs.String())
			}
		}
	}
}

func TestNoKeyIsIssuedWhereItWouldBeLost(t *testing.T) {
	t.Parallel()
	for _, output := range []string{">&-", ">/dev/null"} {
		folder := folderWithStore(t)
		for _, args := range []string{"create --name n", "rotate 1"} {
			cmd := prepared(t.Context(), folder, "exec "+output, append([]string{"keys"}, strings.Fields(args)...)...)
			var errs bytes.Buffer
			cmd.Stderr = &errs
			if err := cmd.Run(); err == nil || !strings.HasPrefix(errs.String(), "petstore: standard output is closed or /dev/null") {
				t.Errorf("keys %s %s: %v, %q", args, output, err, errs.String())
			}
		}
		if n := number(t, folder, "SELECT count(*) FROM api_keys"); n != 0 {
			t.Errorf("%d keys were issued", n)
		}
	}
}

// deafPipe is a pipe from which nobody reads any more.
func deafPipe(t *testing.T) *os.File {
	t.Helper()
	reader, writer, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = writer.Close() })
	if err := reader.Close(); err != nil {
		t.Fatal(err)
	}
	return writer
}

func TestEveryCommandShowsAnExample(t *testing.T) {
	t.Parallel()
	var walk func(*cobra.Command)
	walk = func(command *cobra.Command) {
		if command.Example == "" || command.Short == "" {
			t.Errorf("%s has no example", command.CommandPath())
		}
		for _, child := range command.Commands() {
			walk(child)
		}
	}
	walk(newRoot(&invocation{}, func() {}))
}

func TestShellsComplete(t *testing.T) {
	t.Parallel()
	for _, shell := range []string{"bash", "zsh", "fish", "powershell"} {
		if stdout, stderr, code := output(t, t.TempDir(), "completion", shell); code != 0 || !strings.Contains(stdout, "petstore") {
			t.Errorf("%s: code %d, %s", shell, code, stderr)
		}
	}
}

func TestShellsCompleteSettings(t *testing.T) {
	t.Parallel()
	var want strings.Builder
	for _, key := range config.Keys() {
		want.WriteString(key + "=\n")
	}
	fmt.Fprintf(&want, ":%d\n", cobra.ShellCompDirectiveNoSpace|cobra.ShellCompDirectiveNoFileComp)
	for _, args := range [][]string{{"serve", "--set", ""}, {"keys", "list", "--set", "log"}} {
		stdout, _, code := output(t, t.TempDir(), append([]string{"__complete"}, args...)...)
		if diff := cmp.Diff(want.String(), stdout); code != 0 || diff != "" {
			t.Errorf("%v: code %d (-want +got)\n%s", args, code, diff)
		}
	}
}
