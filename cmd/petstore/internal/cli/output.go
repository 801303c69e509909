package cli

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"
	"text/tabwriter"

	"github.com/spf13/cobra"
)

// printResult writes the result of a command that has done its work to stdout, made printable,
// because it may have names of files. The error contains the result.
func (in *invocation) printResult(result string) error {
	if _, err := fmt.Fprintln(in.stdout, printable(result)); err != nil {
		return fmt.Errorf("the work is done, but standard output could not be written (%v): %s", err, strings.ReplaceAll(result, "\n", "; ")) //nolint:errorlint // run would not print an errNoReader
	}
	return nil
}

// isNullDevice reports whether out is the null device, which the Go runtime also opens in
// place of a closed standard output.
func isNullDevice(out io.Writer) bool {
	file, ok := out.(*os.File)
	if !ok {
		return false
	}
	output, err := file.Stat()
	if err != nil {
		return false
	}
	null, err := os.Stat(os.DevNull)
	return err == nil && os.SameFile(output, null)
}

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
