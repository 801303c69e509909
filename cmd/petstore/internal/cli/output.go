package cli

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"regexp"
	"strconv"
	"strings"
	"text/tabwriter"

	"github.com/spf13/cobra"
)

// report writes a message to standard error, whose errors cannot be reported.
func (in *invocation) report(format string, args ...any) {
	fmt.Fprintln(in.Stderr, "petstore: "+in.message(fmt.Sprintf(format, args...)))
}

// printResult writes the result of a command that has done its work to standard output. The
// error contains the result.
func (in *invocation) printResult(format string, args ...any) error {
	result := fmt.Sprintf(format, args...)
	if _, err := fmt.Fprintln(in.Stdout, in.message(result)); err != nil {
		return fmt.Errorf("the work is done, but standard output could not be written (%v): %s", err, strings.ReplaceAll(result, "\n", "; ")) //nolint:errorlint // Run would not print a broken pipe
	}
	return nil
}

// message returns a text for people: printable, and with hints to run this program under the
// name by which it was called.
func (in *invocation) message(text string) string {
	named := strings.NewReplacer("run petstore ", "run "+in.Name+" ", "with petstore ", "with "+in.Name+" ")
	return printable(named.Replace(text))
}

// unprintable matches what could change the rest of the output of a terminal: control characters
// but newlines, characters that change the direction of text, and bytes that are not UTF-8.
var unprintable = regexp.MustCompile(`[^\P{Cc}\n]|[\x{61c}\x{200e}\x{200f}\x{202a}-\x{202e}\x{2066}-\x{2069}\x{fffd}]`)

// printable returns text, in which a part may be the name of a file, with escape sequences of Go
// instead of what is unprintable.
func printable(text string) string {
	return unprintable.ReplaceAllStringFunc(text, func(char string) string {
		if char == "\ufffd" { // the character itself: another byte matches as if it were this one
			return char
		}
		return strings.Trim(strconv.QuoteToASCII(char), `"`)
	})
}

// checkStdout returns an error with a remedy if standard output is the null device, which the Go
// runtime also opens in place of one that is closed.
func (in *invocation) checkStdout(remedy string) error {
	file, ok := in.Stdout.(*os.File)
	if !ok {
		return nil
	}
	output, err := file.Stat()
	null, nullErr := os.Stat(os.DevNull)
	if err != nil || nullErr != nil || !os.SameFile(output, null) {
		return nil //nolint:nilerr // the write fails
	}
	return errors.New("standard output is closed or " + os.DevNull + remedy)
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
