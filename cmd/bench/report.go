package main

import (
	"embed"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"text/template"
	"time"
)

//go:embed templates
var templates embed.FS

// A report is all that came out.
type report struct {
	machine     machine
	rounds      int
	duration    time.Duration
	date        time.Time
	comparisons []comparison
	readings    []reading
}

// write writes benchmarks.md and benchmarks.svg to a folder.
func (r report) write(folder string) error {
	var text, plot strings.Builder
	if err := errors.Join(r.markdown(&text), r.plot(&plot)); err != nil {
		return err
	}
	return errors.Join(
		os.WriteFile(filepath.Join(folder, "benchmarks.md"), []byte(text.String()), 0o644),
		os.WriteFile(filepath.Join(folder, "benchmarks.svg"), []byte(plot.String()), 0o644),
	)
}

// A row is a line of the table of results, in words.
type row struct{ Work, Median, Rounds, AtLeast, Aim, Reached string }

// A turn is a line of the table of servers, in words.
type turn struct{ Work, Server, Rate, P99, CPU, Core string }

// markdown writes the report for people.
func (r report) markdown(out io.Writer) error {
	page, err := template.ParseFS(templates, "templates/benchmarks.md.tmpl")
	if err != nil {
		return err
	}
	versions := make([]string, len(r.machine.versions))
	for i, v := range r.machine.versions {
		versions[i] = v.of + " " + v.is
	}
	return page.Execute(out, map[string]any{
		"CPU": r.machine.cpu, "Cores": r.machine.cores, "Load": r.machine.load, "Kernel": r.machine.kernel,
		"Versions": strings.Join(versions, ", "), "Date": r.date.Format("2 January 2006"),
		"Rounds": r.rounds, "Duration": r.duration, "Connections": connections,
		"Fsync": milliseconds(r.machine.fsync), "FsyncP99": milliseconds(r.machine.fsyncP99),
		"Rows": r.rows(), "Turns": r.turns(), "PostP99": r.postP99(),
	})
}

// postP99 is that of durable POSTs, or nothing when they were not measured.
func (r report) postP99() string {
	for _, t := range r.turns() {
		if t.Work == durablePOST {
			return t.P99
		}
	}
	return ""
}

func (r report) rows() []row {
	var rows []row
	for _, c := range r.comparisons {
		rows = append(rows, newRow(c.name, c.ratios(), "", false, c.atLeast, c.aim))
	}
	for _, g := range r.readings {
		rows = append(rows, newRow(g.name, g.values, g.unit, g.smaller, g.atLeast, g.aim))
	}
	return rows
}

func newRow(name string, values []float64, unit string, smaller bool, atLeast, aim float64) row {
	middle := median(values)
	return row{
		Work: name, Median: number(middle, unit),
		Rounds:  number(slices.Min(values), "") + " to " + number(slices.Max(values), ""),
		AtLeast: target(atLeast, unit, smaller), Aim: target(aim, unit, smaller),
		Reached: reached(middle, smaller, atLeast, aim),
	}
}

func reached(value float64, smaller bool, atLeast, aim float64) string {
	meets := func(target float64) bool {
		return value == target || (value < target) == smaller
	}
	switch {
	case aim != 0 && meets(aim):
		return "aim"
	case atLeast == 0:
		return ""
	case meets(atLeast):
		return "yes"
	default:
		return "**no**"
	}
}

func (r report) turns() []turn {
	var turns []turn
	for _, c := range r.comparisons {
		turns = append(turns, newTurn(c.name, c.work.ours.name, c.ours), newTurn(c.name, c.work.other.name, c.other))
	}
	return turns
}

func newTurn(work, server string, samples []sample) turn {
	of := func(value func(sample) float64) float64 {
		values := make([]float64, len(samples))
		for i, s := range samples {
			values[i] = value(s)
		}
		return median(values)
	}
	rate := of(func(s sample) float64 { return s.rate })
	cpu := of(func(s sample) float64 { return s.cpu.Seconds() })
	p99 := of(func(s sample) float64 { return s.p99.Seconds() })
	return turn{
		Work: work, Server: server, Rate: thousands(rate),
		P99: fmt.Sprintf("%.2f ms", p99*1e3), CPU: fmt.Sprintf("%.1f µs", cpu*1e6), Core: fmt.Sprintf("%.0f %%", rate*cpu*100),
	}
}
