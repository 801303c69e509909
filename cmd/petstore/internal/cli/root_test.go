package cli

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
	const path = "../../../../docs/cli.md"
	root := newRoot(&invocation{})
	root.InitDefaultCompletionCmd()
	page := "# Commands\n\n`make docs` generates this page: each section is what the command prints with `--help`.\n"
	page += helpSections(t, root)
	if *update {
		check(t, os.WriteFile(path, []byte(page), 0o600))
	}
	found, err := os.ReadFile(path)
	check(t, err)
	if diff := cmp.Diff(page, string(found)); diff != "" {
		t.Errorf("%s differs from --help: run make docs (-want +got)\n%s", path, diff)
	}
}

func helpSections(t *testing.T, command *cobra.Command) string {
	t.Helper()
	if generated := strings.HasPrefix(command.CommandPath(), "petstore completion"); command.Short == "" || command.Example == "" && !generated {
		t.Errorf("%s has no short help or no example", command.CommandPath())
	}
	var help, errors strings.Builder
	args := append(strings.Fields(command.CommandPath())[1:], "--help")
	if code := Run(t.Context(), Program{Args: args, Stdout: &help, Stderr: &errors}); code != 0 {
		t.Fatalf("%v: got code %d: %s", args, code, errors.String())
	}
	sections := "\n## " + command.CommandPath() + "\n\n```\n" + help.String() + "```\n"
	for _, child := range command.Commands() {
		sections += helpSections(t, child)
	}
	return sections
}
