package main

import (
	"errors"
	"fmt"
	"strings"

	"github.com/spf13/cobra"
)

// newGroup makes a command of which only the subcommands do something. Without one
// it prints its help; with an unknown one it is an error, which suggests what was meant.
func newGroup(cmd *cobra.Command, subcommands ...*cobra.Command) *cobra.Command {
	cmd.Args = func(cmd *cobra.Command, args []string) error {
		if len(args) == 0 {
			return nil
		}
		return unknownCommand(cmd, args[0])
	}
	cmd.RunE = func(cmd *cobra.Command, _ []string) error { return cmd.Help() }
	cmd.SuggestionsMinimumDistance = 2
	cmd.AddCommand(subcommands...)
	return cmd
}

func unknownCommand(group *cobra.Command, name string) error {
	text := fmt.Sprintf("unknown command %q for %q", name, group.CommandPath())
	if names := group.SuggestionsFor(name); len(names) > 0 {
		text += "; did you mean " + strings.Join(names, " or ") + "?"
	}
	return errors.New(text)
}

// flagError returns the error of a flag, unless it is one of a mistyped command, whose
// flags its group does not know.
func flagError(cmd *cobra.Command, err error) error {
	if args := cmd.Flags().Args(); cmd.HasSubCommands() && len(args) > 0 {
		return unknownCommand(cmd, args[0])
	}
	return err
}
