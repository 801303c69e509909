package cli

import (
	"errors"
	"fmt"
	"strings"

	"github.com/spf13/cobra"
)

// withSubcommands adds subcommands to a parent that does nothing itself. Without a
// subcommand it prints its help; an unknown one is an error that suggests similar names.
func withSubcommands(parent *cobra.Command, subcommands ...*cobra.Command) *cobra.Command {
	parent.Args = func(cmd *cobra.Command, args []string) error {
		if len(args) == 0 {
			return nil
		}
		return unknownCommand(cmd, args[0])
	}
	parent.RunE = func(cmd *cobra.Command, _ []string) error { return cmd.Help() }
	parent.SuggestionsMinimumDistance = 2
	parent.AddCommand(subcommands...)
	return parent
}

func unknownCommand(parent *cobra.Command, name string) error {
	text := fmt.Sprintf("unknown command %q for %q", name, parent.CommandPath())
	if names := parent.SuggestionsFor(name); len(names) > 0 {
		text += "; did you mean " + strings.Join(names, " or ") + "?"
	}
	return errors.New(text)
}

// noArgs is a cobra.PositionalArgs that accepts no argument. Its error repeats none, which may
// be a secret by mistake.
func noArgs(cmd *cobra.Command, args []string) error {
	if len(args) > 0 {
		return fmt.Errorf("%s takes no arguments", cmd.CommandPath())
	}
	return nil
}

// oneArg is a cobra.PositionalArgs that accepts one argument. Its error for none is missing,
// such as "name the FILE to import". It repeats no argument, which may be a secret by mistake.
func oneArg(missing string) cobra.PositionalArgs {
	return func(cmd *cobra.Command, args []string) error {
		if len(args) == 0 {
			return errors.New(missing)
		}
		return atMostOneArg(cmd, args)
	}
}

// atMostOneArg is a cobra.PositionalArgs that accepts one argument or none.
func atMostOneArg(cmd *cobra.Command, args []string) error {
	if len(args) > 1 {
		return fmt.Errorf("%s accepts one argument, not %d: quote one that contains spaces", cmd.CommandPath(), len(args))
	}
	return nil
}

// notEmpty returns the function that sets target to the value of a flag. An empty value, such
// as that of a variable that is not set, is an error.
func notEmpty(target *string) func(string) error {
	return func(value string) error {
		if value == "" {
			return errors.New("must not be empty")
		}
		*target = value
		return nil
	}
}

// flagError returns err, the error of a flag. If a mistyped subcommand precedes the flag,
// which its parent therefore does not know, it returns the error of the subcommand.
func flagError(cmd *cobra.Command, err error) error {
	if args := cmd.Flags().Args(); cmd.HasSubCommands() && len(args) > 0 {
		return unknownCommand(cmd, args[0])
	}
	return err
}
