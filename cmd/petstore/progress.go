package main

import (
	"fmt"
	"io"
	"os"
	"time"

	"github.com/schollz/progressbar/v3"
	"golang.org/x/term"
)

// A progress tells people how many of all animals are there.
type progress struct {
	add  func(n int)
	stop func() // before the end, so that what follows has a line of its own
}

// newProgress draws a bar on a terminal, and writes lines elsewhere.
func newProgress(out io.Writer, total int) progress {
	if file, ok := out.(*os.File); ok && term.IsTerminal(int(file.Fd())) {
		return progressBar(out, total)
	}
	return progressLines(out, total)
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
		add:  func(n int) { _ = bar.Add(n) }, // a bar that cannot be drawn stops no work
		stop: newline,
	}
}

// progressLines writes a line for every tenth of the way.
func progressLines(out io.Writer, total int) progress {
	sum, told := 0, 0
	add := func(n int) {
		sum += n
		if tenths := 10 * sum / total; tenths > told {
			told = tenths
			fmt.Fprintf(out, "%d of %d animals\n", sum, total)
		}
	}
	return progress{add: add, stop: func() {}}
}
