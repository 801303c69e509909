package cli

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"text/tabwriter"
	"time"

	"github.com/schollz/progressbar/v3"
	"github.com/spf13/cobra"
	"golang.org/x/term"

	"example.com/petstore/config"
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
		const text = "the work is done, but standard output could not be written (%v): %s" // not %w: Run would not print a broken pipe
		return fmt.Errorf(text, err.Error(), strings.ReplaceAll(result, "\n", "; "))
	}
	return nil
}

// command returns how to run this program on the same store, for hints. It hides a connection string.
func (in *invocation) command() string {
	command := in.Name
	if in.configFile != "" {
		command += " --config " + in.configFile
	}
	if dsn, ok := in.configOptions().Overrides["database.dsn"]; ok {
		if config.LooksLikeDSN(dsn) {
			dsn = "…"
		}
		command += " --set database.dsn=" + dsn
	}
	return command
}

// message returns a text for people: printable, and with hints to run this program as it was
// called.
func (in *invocation) message(text string) string {
	named := strings.NewReplacer("run petstore ", "run "+in.command()+" ", "with petstore ", "with "+in.command()+" ")
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

// oneOf returns the function that sets target to the value of a flag, which must be one of values.
func oneOf[T ~string](target *T, values ...string) func(string) error {
	return func(value string) error {
		if !slices.Contains(values, value) {
			return errors.New("must be " + strings.Join(values, " or "))
		}
		*target = T(value)
		return nil
	}
}

// An outputFlag is the flag --output of a command that lists: table or json.
type outputFlag string

// add adds the flag to a command.
func (o *outputFlag) add(cmd *cobra.Command) {
	formats := []string{"table", "json"}
	cmd.Flags().Func("output", "print `FORMAT`: table, for people, or json, for programs (default table)", oneOf(o, formats...))
	complete := cobra.FixedCompletions(formats, cobra.ShellCompDirectiveNoFileComp)
	_ = cmd.RegisterFlagCompletionFunc("output", complete) // fails only for an unknown flag
}

// write writes value as JSON, or the table that writeTable writes with tabs between its
// columns.
func (o *outputFlag) write(out io.Writer, value any, writeTable func(table io.Writer)) error {
	if *o == "json" {
		encoder := json.NewEncoder(out)
		encoder.SetIndent("", "  ")
		encoder.SetEscapeHTML(false)
		return encoder.Encode(value)
	}
	table := tabwriter.NewWriter(out, 0, 0, 2, ' ', 0)
	writeTable(table)
	return table.Flush()
}

// A progress reports how much of a total has been done. The total is a number of units, such as
// animals.
type progress struct {
	out         io.Writer
	units       string
	total, done int
	tenths      int                      // of the total that were reported
	bar         *progressbar.ProgressBar // nil unless out is a terminal
}

// newProgress returns a progress that draws a bar, with the rate and the remaining time, if
// out is a terminal, or else writes lines.
func newProgress(out io.Writer, units string, total int) *progress {
	p := &progress{out: out, units: units, total: total}
	if file, ok := out.(*os.File); ok && term.IsTerminal(int(file.Fd())) {
		p.bar = progressbar.NewOptions(
			total,
			progressbar.OptionSetWriter(out),
			progressbar.OptionSetDescription(units),
			progressbar.OptionShowCount(),
			progressbar.OptionShowIts(),
			progressbar.OptionSetItsString(units),
			progressbar.OptionThrottle(100*time.Millisecond),
			progressbar.OptionOnCompletion(func() { fmt.Fprintln(out) }),
		)
	}
	return p
}

// add reports that n more units are done. More than the total may be done, such as records that
// were added after they were counted. Without a bar, it writes a line for each tenth of the total.
func (p *progress) add(n int) {
	p.done += n
	if p.bar != nil {
		_ = p.bar.Add(n) // the work continues if the bar cannot be drawn
		return
	}
	if p.total = max(p.total, p.done); p.total == 0 {
		return
	}
	if tenths := 10 * p.done / p.total; tenths > p.tenths {
		p.tenths = tenths
		fmt.Fprintf(p.out, "%d of %d %s\n", p.done, p.total, p.units)
	}
}

// throttled returns add with a pause for half of the time since the last call, in which other processes can write:
// SQLite does not queue those that wait for its lock, they retry.
func (p *progress) throttled(ctx context.Context) func(n int) {
	last := time.Now()
	return func(n int) {
		p.add(n)
		select {
		case <-time.After(time.Since(last) / 2):
		case <-ctx.Done():
		}
		last = time.Now()
	}
}

// Write implements io.Writer: each byte is a unit that is done.
func (p *progress) Write(done []byte) (int, error) {
	p.add(len(done))
	return len(done), nil
}

// stop ends the line of an unfinished bar.
func (p *progress) stop() {
	if p.bar != nil && p.done < p.total {
		fmt.Fprintln(p.out)
	}
}
