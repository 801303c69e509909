package cli

import (
	"fmt"
	"io"
	"io/fs"
	"os"
	"runtime"
	"slices"
	"strings"
	"testing"

	"example.com/petstore/internal/engine"
	"example.com/petstore/test/harness"

	"github.com/google/go-cmp/cmp"
	"github.com/rogpeppe/go-internal/testscript"
)

// TestScripts runs the scripts in testdata/script. Each script runs in a folder of its own, with its files.
// Their language is described in https://pkg.go.dev/github.com/rogpeppe/go-internal/testscript. The
// functions below add commands to it.
func TestScripts(t *testing.T) {
	t.Parallel()
	testscript.Run(t, testscript.Params{
		Dir:                "testdata/script",
		RequireUniqueNames: true,
		Setup: func(env *testscript.Env) error {
			env.Values["t"] = env.T()
			env.Setenv("GOVERSION", runtime.Version())
			env.Setenv("SCHEMA", fmt.Sprint(engine.SchemaVersion))
			env.Setenv("odd", "\x1b\u202e")
			return nil
		},
		Cmds: map[string]func(ts *testscript.TestScript, neg bool, args []string){
			"petstore": runPetstore, "says": wantMessage, "files": wantFiles, "query": query, "sql": execute,
		},
	})
}

func testOf(ts *testscript.TestScript) testing.TB { return ts.Value("t").(testing.TB) }

// runPetstore runs "petstore ARGS" in the current folder and expects the exit code 0. For "! petstore
// ARGS", it expects 1 and no standard output.
func runPetstore(ts *testscript.TestScript, neg bool, args []string) {
	wantCode := 0
	if neg {
		wantCode = 1
	}
	cmd := harness.Command(testOf(ts).Context(), ts.MkAbs("."), args...)
	var stdout strings.Builder
	cmd.Stdout, cmd.Stderr = io.MultiWriter(&stdout, ts.Stdout()), ts.Stderr()
	if err := cmd.Run(); cmd.ProcessState == nil {
		ts.Fatalf("%v", err)
	}
	if code := cmd.ProcessState.ExitCode(); code != wantCode || neg && stdout.Len() > 0 {
		ts.Fatalf("got code %d, want %d; a command that fails must print nothing to standard output", code, wantCode)
	}
}

// wantMessage is the command "says MESSAGE". It expects that the last command has written only this message
// to standard error.
func wantMessage(ts *testscript.TestScript, _ bool, args []string) {
	if diff := cmp.Diff("petstore: "+strings.Join(args, " ")+"\n", ts.ReadFile("stderr")); diff != "" {
		ts.Fatalf("standard error (-want +got)\n%s", diff)
	}
}

// wantFiles is the command "files NAME...". It expects that the current folder contains exactly these
// files.
func wantFiles(ts *testscript.TestScript, _ bool, want []string) {
	found, err := fs.Glob(os.DirFS(ts.MkAbs(".")), "[^.]*")
	ts.Check(err)
	if diff := cmp.Diff(slices.Sorted(slices.Values(want)), found); diff != "" {
		ts.Fatalf("files (-want +got)\n%s", diff)
	}
}

// query is the command "query SQL [WANT]". It runs the query on petstore.db in the current folder and
// expects the value WANT. Without WANT, it sets $value to the result.
func query(ts *testscript.TestScript, _ bool, args []string) {
	db := harness.OpenSQLite(testOf(ts), ts.MkAbs("petstore.db"))
	defer func() { _ = db.Close() }() // the next command needs the closed file
	var got string
	ts.Check(db.QueryRowContext(testOf(ts).Context(), args[0]).Scan(&got))
	if len(args) == 1 {
		ts.Setenv("value", got)
	} else if got != args[1] {
		ts.Fatalf("got %s, want %s", got, args[1])
	}
}

// execute is the command "sql FILE". It runs the statements of a file on petstore.db in the current folder.
func execute(ts *testscript.TestScript, _ bool, args []string) {
	db := harness.OpenSQLite(testOf(ts), ts.MkAbs("petstore.db"))
	defer func() { _ = db.Close() }() // the next command needs the closed file
	_, err := db.ExecContext(testOf(ts).Context(), ts.ReadFile(args[0]))
	ts.Check(err)
}
