package cli

import (
	"context"
	"errors"
	"io"
	"os"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/creack/pty"

	"example.com/petstore/internal/test/testkit"
	"example.com/petstore/test/harness"
)

func TestFailingOutputIsAnErrorUnlessItsReaderHasExited(t *testing.T) {
	t.Parallel()
	full, err := os.OpenFile("/dev/full", os.O_WRONLY, 0)
	testkit.Check(t, err)
	defer full.Close()
	store := "database.dsn=" + harness.StorePath(harness.SeededStore(t, "5000"))
	const loud = "petstore: the configuration is not valid:\n  log.level = \"loud\" (command line): must be debug or info or warn or error\n"
	const created = "petstore: the API key was created but not printed: "
	for args, want := range map[string]struct {
		code          int
		quiet         bool // whether the command says nothing when its reader has exited
		before, after string
	}{
		"config":                                 {1, true, "petstore: ", "\n"},
		"keys list --output json --set " + store: {1, true, "petstore: ", "\n"},
		"completion bash":                        {1, true, "petstore: ", "\n"},
		"export --set " + store:                  {1, true, "", ": the output is incomplete\n"},
		"config --set log.level=loud":            {2, false, loud, "\n"},
		"keys create --name n":                   {1, false, created, ": revoke it, it is the last one that petstore keys list shows\n"},
		"serve --first-key": {
			1, false, created + "standard output: ",
			": revoke it, it is the last one that petstore keys list shows\n",
		},
	} {
		for reason, stdout := range map[string]*os.File{"broken pipe": harness.BrokenPipe(t), "no space left on device": full} {
			cmd := harness.Command(t.Context(), harness.NewStore(t), strings.Fields(args)...)
			cmd.Stdout = stdout
			_, stderr, code := harness.RunCommand(t, cmd)
			text := want.before + "write /dev/stdout: " + reason + want.after
			if want.quiet && reason == "broken pipe" {
				text = ""
			}
			if code != want.code || !strings.HasSuffix(stderr, text) || text == "" && stderr != "" {
				t.Errorf("petstore %s: got code %d, stderr %q, want %d and %q", args, code, stderr, want.code, text)
			}
		}
	}
}

// If descriptor 1 or 2 is closed, the next file that is opened would get that descriptor. The messages of the
// command would then be written to that file.
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

func TestCommandSaysThatItDidItsWorkIfItsOutputFails(t *testing.T) {
	t.Parallel()
	dir := harness.SeededStore(t, "10")
	writeRows(t, dir, "more.csv", 1)
	for _, test := range []struct{ args, result string }{
		{"seed --count 2", "added 2 animals and 0 orders in "},
		{"backup monday.db", "wrote monday.db: "},
		{"restore monday.db", "restored " + harness.StorePath(dir) + " from monday.db: 12 animals, "},
		{"copy --to copy.db", "copied "},
		{"export pets.csv", "exported 12 animals in "},
		{"import more.csv", "added 1 animal in "},
		{"import more.csv --dry-run", "checked 1 animal, and stored nothing"},
	} {
		cmd := harness.Command(t.Context(), dir, strings.Fields(test.args)...)
		cmd.Stdout = harness.BrokenPipe(t) // other commands exit silently on this error
		_, stderr, code := harness.RunCommand(t, cmd)
		want := "petstore: the work is done, but standard output could not be written (write /dev/stdout: broken pipe): " + test.result
		lines := strings.Split(strings.TrimSuffix(stderr, "\n"), "\n")
		if code != 1 || !strings.HasPrefix(lines[len(lines)-1], want) {
			t.Errorf("%s: got code %d, stderr %q, want 1 and %q at the end", test.args, code, stderr, want)
		}
	}
}

// If an output is closed, the Go runtime opens the null device for reading and writing, as
// subprocess.DEVNULL of Python does.
func TestNullOutputIsAnError(t *testing.T) {
	t.Parallel()
	const lost = ", so the key would be lost: redirect it to a terminal, a file or a pipe\n"
	for _, redirection := range []string{">&-", ">/dev/null", "1<>/dev/null"} {
		dir := harness.NewStore(t)
		for args, remedy := range map[string]string{
			"keys create --name n": lost, "keys rotate 1": lost, "serve --first-key": lost, "export -": ": redirect it, or name a FILE\n",
		} {
			ctx, cancel := context.WithTimeout(t.Context(), 10*time.Second)
			defer cancel()
			_, stderr, code := harness.RunCommand(t, harness.CommandAfter(ctx, dir, "exec "+redirection, strings.Fields(args)...))
			if want := "petstore: standard output is closed or /dev/null" + remedy; code != 1 || stderr != want {
				t.Errorf("%s %s: got code %d, stderr %q; want 1 and %q", args, redirection, code, stderr, want)
			}
		}
		if n := harness.QueryInt(t, dir, "SELECT count(*) FROM api_keys"); n != 0 {
			t.Errorf("got %d keys in the store, want none", n)
		}
	}
}

func TestSecondSignalEndsCommandWhoseOutputBlocks(t *testing.T) {
	t.Parallel()
	for args, written := range map[string]string{
		"keys create --name n":      "SELECT count(*) FROM api_keys",
		"seed --count 1 --orders 0": "SELECT count(*) FROM pets",
		"seed --count 9000":         "SELECT count(*) FROM pets", // its standard error blocks
	} {
		t.Run(args, func(t *testing.T) {
			t.Parallel()
			dir := harness.NewStore(t)
			_, pipe := harness.FullPipe(t)
			cmd := harness.CommandWithTimeout(t, dir, strings.Fields(args)...)
			cmd.Stdout, cmd.Stderr = pipe, pipe
			testkit.Check(t, cmd.Start())
			testkit.WaitUntil(t, "the command has written to the store", func() bool { return harness.QueryInt(t, dir, written) > 0 })
			go func() {
				for range time.Tick(100 * time.Millisecond) { // more than two signals, because the second may come too early
					if cmd.Process.Signal(syscall.SIGTERM) != nil { // the process has ended
						return
					}
				}
			}()
			err := cmd.Wait()
			if status, ok := cmd.ProcessState.Sys().(syscall.WaitStatus); !ok || status.Signal() != syscall.SIGTERM {
				t.Errorf("got %v, want that the signal ended the process", err)
			}
		})
	}
}

func TestProgressIsABarOnATerminal(t *testing.T) {
	t.Parallel()
	dir := harness.SeededStore(t, "3000")
	writeRows(t, dir, "more.csv", 3000)
	for args, bars := range map[string][]string{
		"seed --count 3000": {"animals 100% |█", "animals/s"},
		"export pets.csv":   {"animals 100% |█", "animals/s"},
		"import more.csv":   {"bytes checked 100% |█", "animals/s"},
		"copy --to copy.db": {"rows 100% |█", "rows compared 100% |█"},
	} {
		screen, terminal, err := pty.Open()
		testkit.Check(t, err)
		defer screen.Close()
		cmd := harness.Command(t.Context(), dir, strings.Fields(args)...)
		cmd.Stderr = terminal
		if err := errors.Join(cmd.Run(), terminal.Close()); err != nil {
			t.Fatal(args, err)
		}
		text, _ := io.ReadAll(screen) // returns EIO when the terminal is closed
		for _, bar := range bars {
			if !strings.Contains(string(text), bar) || strings.Contains(string(text), "3000 of 3000") {
				t.Errorf("%s: got %q, want a bar with %q and no lines", args, text, bar)
			}
		}
	}
}
