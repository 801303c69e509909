package cli

import (
	"context"
	"fmt"
	"io"
	"os"
	"time"

	"github.com/schollz/progressbar/v3"
	"golang.org/x/term"
)

// A progress reports how much of a total has been done.
type progress struct {
	add  func(n int)
	stop func() // ends the line of an unfinished bar
}

// newProgress returns a progress that draws a bar, with the rate and the remaining time, if
// out is a terminal, or else writes lines. The total is a number of units, such as animals.
// It writes to out with a contextWriter.
func newProgress(ctx context.Context, out io.Writer, units string, total int) progress {
	if file, ok := out.(*os.File); ok && term.IsTerminal(int(file.Fd())) {
		return progressBar(contextWriter{ctx, out}, units, total)
	}
	return progressLines(contextWriter{ctx, out}, units, total)
}

func progressBar(out io.Writer, units string, total int) progress {
	newline := func() { fmt.Fprintln(out) }
	bar := progressbar.NewOptions(
		total,
		progressbar.OptionSetWriter(out),
		progressbar.OptionSetDescription(units),
		progressbar.OptionShowCount(),
		progressbar.OptionShowIts(),
		progressbar.OptionSetItsString(units),
		progressbar.OptionThrottle(100*time.Millisecond),
		progressbar.OptionOnCompletion(newline),
	)
	return progress{
		add:  func(n int) { _ = bar.Add(n) }, // the work continues if the bar cannot be drawn
		stop: newline,
	}
}

// progressLines returns a progress that writes a line for each tenth of the total. More than
// the total may be done, such as records that were added after they were counted.
func progressLines(out io.Writer, units string, total int) progress {
	done, reported := 0, 0 // reported is in tenths
	add := func(n int) {
		done += n
		if total = max(total, done); total == 0 {
			return
		}
		if tenths := 10 * done / total; tenths > reported {
			reported = tenths
			fmt.Fprintf(out, "%d of %d %s\n", done, total, units)
		}
	}
	return progress{add: add, stop: func() {}}
}
