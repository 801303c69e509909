package main

import (
	"flag"
	"os"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/spf13/cobra"
)

var update = flag.Bool("update", false, "rewrite docs/cli.md")

// TestCommandPageHasTheHelpOfEveryCommand compares docs/cli.md with what --help prints.
func TestCommandPageHasTheHelpOfEveryCommand(t *testing.T) {
	t.Parallel()
	const path = "../../docs/cli.md"
	root := newRoot(&invocation{}, func() {})
	root.InitDefaultCompletionCmd()
	page := "# Commands\n\n`make docs` generates this page: each section is what the command prints with `--help`.\n"
	page += helpSections(t, root)
	if *update {
		if err := os.WriteFile(path, []byte(page), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	if diff := cmp.Diff(page, readFile(t, path)); diff != "" {
		t.Errorf("%s differs from --help: run make docs (-want +got)\n%s", path, diff)
	}
}

// helpSections returns the section of a command and those of its subcommands.
func helpSections(t *testing.T, command *cobra.Command) string {
	t.Helper()
	var help, errors strings.Builder
	args := append(strings.Fields(command.CommandPath())[1:], "--help")
	if code := run(t.Context(), args, &help, &errors); code != 0 {
		t.Fatalf("%v: got code %d: %s", args, code, errors.String())
	}
	sections := "\n## " + command.CommandPath() + "\n\n```\n" + help.String() + "```\n"
	for _, child := range command.Commands() {
		sections += helpSections(t, child)
	}
	return sections
}
