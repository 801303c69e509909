package main

import (
	"encoding/json"
	"errors"
	"io"
	"text/tabwriter"

	"github.com/spf13/cobra"
)

// An outputFlag is the flag --output of a command that lists.
type outputFlag struct{ json bool }

// add adds the flag to a command.
func (o *outputFlag) add(cmd *cobra.Command) {
	cmd.Flags().Func("output", "print `FORMAT`: table, for people, or json, for programs (default table)", func(format string) error {
		if o.json = format == "json"; !o.json && format != "table" {
			return errors.New("must be table or json")
		}
		return nil
	})
	formats := cobra.FixedCompletions([]cobra.Completion{"table", "json"}, cobra.ShellCompDirectiveNoFileComp)
	_ = cmd.RegisterFlagCompletionFunc("output", formats) // fails only for an unknown flag
}

// write writes value as JSON, or the table that writeTable writes with tabs between its
// columns.
func (o *outputFlag) write(out io.Writer, value any, writeTable func(table io.Writer)) error {
	if o.json {
		encoder := json.NewEncoder(out)
		encoder.SetIndent("", "  ")
		encoder.SetEscapeHTML(false)
		return encoder.Encode(value)
	}
	table := tabwriter.NewWriter(out, 0, 0, 2, ' ', 0)
	writeTable(table)
	return table.Flush()
}
