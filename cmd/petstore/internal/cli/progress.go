package cli

import (
	"fmt"
	"io"
	"os"
	"time"

	"github.com/schollz/progressbar/v3"
	"golang.org/x/term"
)

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
