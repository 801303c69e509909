package main

import (
	"io"
	"os"
	"strings"
	"testing"
)

// TestCommandsOfOperationsPageAreValid parses the command line of each petstore command of
// the page.
func TestCommandsOfOperationsPageAreValid(t *testing.T) {
	t.Parallel()
	page, err := os.ReadFile("../../docs/operations.md")
	if err != nil {
		t.Fatal(err)
	}
	commands := map[string]bool{}
	for _, block := range strings.Split(string(page), "```sh\n")[1:] {
		block, _, _ = strings.Cut(block, "```")
		for line := range strings.Lines(block) {
			line = strings.TrimPrefix(strings.TrimSpace(line), "sudo -u petstore ")
			if args, found := strings.CutPrefix(line, "petstore "); found {
				commands[wantValidCommandLine(t, strings.Fields(args))] = true
			}
		}
	}
	for _, want := range []string{"backup", "restore", "export", "import", "create", "rotate"} {
		if !commands[want] {
			t.Errorf("found no command %s", want)
		}
	}
}

// wantValidCommandLine expects that args are a command with valid flags and arguments, and
// returns its name.
func wantValidCommandLine(t *testing.T, args []string) string {
	t.Helper()
	root := newRoot(&invocation{stdout: contextWriter{t.Context(), io.Discard}, stderr: io.Discard}, func() {})
	command, rest, err := root.Find(args)
	if err == nil {
		err = command.ParseFlags(rest)
	}
	if err == nil {
		err = command.ValidateArgs(command.Flags().Args())
	}
	if err != nil || !command.Runnable() {
		t.Errorf("petstore %s: %v", strings.Join(args, " "), err)
	}
	return command.Name()
}
