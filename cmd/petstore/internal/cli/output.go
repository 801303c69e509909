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

// report writes a message to standard error. An error of the write is ignored, because it could not be reported.
func (in *invocation) report(format string, args ...any) {
	fmt.Fprintln(in.Stderr, "petstore: "+in.message(fmt.Sprintf(format, args...)))
}

// printResult writes the result of a command to standard output, when the command has done its work. If the write fails,
// the error contains the result.
func (in *invocation) printResult(format string, args ...any) error {
	result := fmt.Sprintf(format, args...)
	if _, err := fmt.Fprintln(in.Stdout, in.message(result)); err != nil {
		const text = "the work is done, but standard output could not be written (%v): %s" // not %w: Run would not print a broken pipe
		return fmt.Errorf(text, err.Error(), strings.ReplaceAll(result, "\n", "; "))
	}
	return nil
}

// command returns the command line that runs this program on the same store, for hints. It hides a connection string.
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

// message returns text as a message for people, with escape sequences for unprintable characters. In hints such as
// "run petstore …", it replaces petstore with the command line that command returns.
func (in *invocation) message(text string) string {
	named := strings.NewReplacer("run petstore ", "run "+in.command()+" ", "with petstore ", "with "+in.command()+" ")
	return printable(named.Replace(text))
}

// unprintable matches characters that could change the rest of the output of a terminal: control characters except
// newlines, characters that change the direction of text, and bytes that are not UTF-8.
var unprintable = regexp.MustCompile(`[^\P{Cc}\n]|[\x{61c}\x{200e}\x{200f}\x{202a}-\x{202e}\x{2066}-\x{2069}\x{fffd}]`)

// printable returns text with escape sequences of Go for unprintable characters, such as in the name of a file.
func printable(text string) string {
	return unprintable.ReplaceAllStringFunc(text, func(char string) string {
		if char == "\ufffd" { // U+FFFD itself is printable; the pattern also matches an invalid byte as U+FFFD
			return char
		}
		return strings.Trim(strconv.QuoteToASCII(char), `"`)
	})
}

// counted returns a number of things, such as "1 order" or "2 orders".
func counted(n int64, thing string) string {
	if n != 1 {
		thing = plural(thing)
	}
	return fmt.Sprintf("%d %s", n, thing)
}

func plural(thing string) string {
	if stem, ok := strings.CutSuffix(thing, "ry"); ok {
		return stem + "ries"
	}
	return thing + "s"
}

// checkStdout returns an error with a remedy if standard output is the null device. The Go runtime opens the null
// device if standard output is closed.
func (in *invocation) checkStdout(remedy string) error {
	file, ok := in.Stdout.(*os.File)
	if !ok {
		return nil
	}
	output, err := file.Stat()
	null, nullErr := os.Stat(os.DevNull)
	if err != nil || nullErr != nil || !os.SameFile(output, null) {
		return nil //nolint:nilerr // if there is a problem, the write returns it
	}
	return errors.New("standard output is closed or " + os.DevNull + remedy)
}

// oneOf returns a function that sets target to the value of a flag. The value must be one of values.
func oneOf[T ~string](target *T, values ...string) func(string) error {
	return func(value string) error {
		if !slices.Contains(values, value) {
			return errors.New("must be " + strings.Join(values, " or "))
		}
		*target = T(value)
		return nil
	}
}

// An outputFlag is the value of the flag --output: table or json. If it is empty, the output is a table.
type outputFlag string

// add adds the flag --output to a command, with the completion of its values in a shell.
func (o *outputFlag) add(cmd *cobra.Command) {
	formats := []string{"table", "json"}
	cmd.Flags().Func("output", "print `FORMAT`: table, for people, or json, for programs (default table)", oneOf(o, formats...))
	complete := cobra.FixedCompletions(formats, cobra.ShellCompDirectiveNoFileComp)
	_ = cmd.RegisterFlagCompletionFunc("output", complete) // fails only for an unknown flag
}

// write writes value as JSON, or a table. writeTable writes the table with tabs between the columns.
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

// A progress reports how many units, such as animals, of a total have been done.
type progress struct {
	out         io.Writer
	units       string
	total, done int
	tenths      int                      // how many tenths of the total have been reported
	bar         *progressbar.ProgressBar // nil unless out is a terminal
}

// isTerminal reports whether out is a terminal.
func isTerminal(out io.Writer) bool {
	file, ok := out.(*os.File)
	return ok && term.IsTerminal(int(file.Fd()))
}

// newProgress returns a progress. If out is a terminal, it draws a bar with the rate and the remaining time. Otherwise it
// writes lines.
func newProgress(out io.Writer, units string, total int) *progress {
	p := &progress{out: out, units: units, total: total}
	if isTerminal(out) {
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

// add reports that n more units are done. There may be more units than the total, such as records that another process
// adds after the count. Without a bar, add writes a line for each tenth of the total.
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

// throttled returns a function that calls add and then pauses, for half of the time since the previous call. In the pause
// other processes can write: SQLite has no queue for its lock, so without a pause a process that retries might never get
// it.
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

// Write implements io.Writer. It counts each byte as a unit that is done.
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
