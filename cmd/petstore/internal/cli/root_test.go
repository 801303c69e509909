package cli

import (
	"testing"

	"github.com/spf13/cobra"
)

func TestEveryCommandHasHelpAndAnExample(t *testing.T) {
	t.Parallel()
	var walk func(*cobra.Command)
	walk = func(command *cobra.Command) {
		if command.Example == "" || command.Short == "" {
			t.Errorf("%s has no short help or no example", command.CommandPath())
		}
		for _, child := range command.Commands() {
			walk(child)
		}
	}
	walk(newRoot(&invocation{}))
}
