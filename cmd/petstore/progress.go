package main

import (
	"context"
	"fmt"
	"io"
	"os"
	"time"

	"github.com/schollz/progressbar/v3"
	"golang.org/x/term"
)

// A progress reports how many of the animals have been added.
type progress struct {
	add  func(n int)
	stop func() // ends the line of an unfinished bar
}

// newProgress returns a progress that draws a bar if out is a terminal, or else writes
// lines. It writes to out with a contextWriter.
func newProgress(ctx context.Context, out io.Writer, total int) progress {
	if file, ok := out.(*os.File); ok && term.IsTerminal(int(file.Fd())) {
		return progressBar(contextWriter{ctx, out}, total)
	}
	return progressLines(contextWriter{ctx, out}, total)
}

func progressBar(out io.Writer, total int) progress {
	newline := func() { fmt.Fprintln(out) }
	bar := progressbar.NewOptions(
		total,
		progressbar.OptionSetWriter(out),
		progressbar.OptionSetDescription("animals"),
		progressbar.OptionShowCount(),
		progressbar.OptionShowIts(),
		progressbar.OptionSetItsString("animals"),
		progressbar.OptionThrottle(100*time.Millisecond),
		progressbar.OptionOnCompletion(newline),
	)
	return progress{
		add:  func(n int) { _ = bar.Add(n) }, // seeding continues if the bar cannot be drawn
		stop: newline,
	}
}

// progressLines returns a progress that writes a line for each tenth of the total.
func progressLines(out io.Writer, total int) progress {
	added, reported := 0, 0 // reported is in tenths
	add := func(n int) {
		added += n
		if tenths := 10 * added / total; tenths > reported {
			reported = tenths
			fmt.Fprintf(out, "%d of %d animals\n", added, total)
		}
	}
	return progress{add: add, stop: func() {}}
}
