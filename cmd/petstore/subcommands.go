package main

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

// flagError returns err, the error of a flag. If a mistyped subcommand precedes the flag,
// which its parent therefore does not know, it returns the error of the subcommand.
func flagError(cmd *cobra.Command, err error) error {
	if args := cmd.Flags().Args(); cmd.HasSubCommands() && len(args) > 0 {
		return unknownCommand(cmd, args[0])
	}
	return err
}
