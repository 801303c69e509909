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

// A report is the result of a measurement against the references.
type report struct {
	machine      machine
	rounds       int
	duration     time.Duration
	date         time.Time
	comparisons  []comparison
	measurements []measurement
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

// A row is a row of the table of results.
type row struct{ Name, Median, Range, Required, Goal, Met string }

// A latencyRow is a row of the table of latencies at half rate.
type latencyRow struct {
	Name, Ratio, Range string
	Ours, Other        serverRow
}

// A serverRow is a row of the table of servers.
type serverRow struct{ Scenario, Server, Rate, P99, CPU, Core string }

// markdown writes the report as text.
func (r report) markdown(out io.Writer) error {
	page, err := template.ParseFS(templates, "templates/benchmarks.md.tmpl")
	if err != nil {
		return err
	}
	versions := make([]string, len(r.machine.versions))
	for i, v := range r.machine.versions {
		versions[i] = v.name + " " + v.number
	}
	return page.Execute(out, map[string]any{
		"CPU": r.machine.cpu, "Cores": r.machine.cores, "Load": r.machine.load, "Kernel": r.machine.kernel,
		"Versions": strings.Join(versions, ", "), "Date": r.date.Format("2 January 2006"),
		"Rounds": r.rounds, "Duration": r.duration, "Connections": connections,
		"Fsync": milliseconds(r.machine.fsync), "FsyncP99": milliseconds(r.machine.fsyncP99),
		"Rows": r.rows(), "Latencies": r.latencies(), "Servers": r.servers(),
	})
}

func (r report) rows() []row {
	var rows []row
	for _, c := range r.comparisons {
		if !c.halfRate {
			rows = append(rows, newRow(c.name, c.ratios(), "", false, c.required, c.goal))
		}
	}
	for _, m := range r.measurements {
		rows = append(rows, newRow(m.name, m.values, m.unit, m.smaller, m.required, m.goal))
	}
	return rows
}

func newRow(name string, values []float64, unit string, smaller bool, required, goal float64) row {
	middle := median(values)
	return row{
		Name: name, Median: number(middle, unit),
		Range:    number(slices.Min(values), "") + " to " + number(slices.Max(values), ""),
		Required: target(required, unit, smaller), Goal: target(goal, unit, smaller),
		Met: met(middle, smaller, required, goal),
	}
}

// met returns whether a value meets the goal, or at least what is required.
func met(value float64, smaller bool, required, goal float64) string {
	meets := func(target float64) bool {
		return value == target || (value < target) == smaller
	}
	switch {
	case goal != 0 && meets(goal):
		return "goal"
	case required == 0:
		return ""
	case meets(required):
		return "yes"
	default:
		return "**no**"
	}
}

func (r report) latencies() []latencyRow {
	var rows []latencyRow
	for _, c := range r.comparisons {
		if c.halfRate {
			ours, other := c.servers()
			ratios := newRow("", c.ratios(), "", true, 0, 0)
			rows = append(rows, latencyRow{Name: c.name, Ratio: ratios.Median, Range: ratios.Range, Ours: ours, Other: other})
		}
	}
	return rows
}

func (r report) servers() []serverRow {
	var rows []serverRow
	for _, c := range r.comparisons {
		if !c.halfRate {
			ours, other := c.servers()
			rows = append(rows, ours, other)
		}
	}
	return rows
}

func (c comparison) servers() (ours, other serverRow) {
	return newServerRow(c.name, c.ours.name, c.samples), newServerRow(c.name, c.other.name, c.otherSamples)
}

// newServerRow shows the medians of the rounds.
func newServerRow(scenario, server string, samples []sample) serverRow {
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
	return serverRow{
		Scenario: scenario, Server: server, Rate: thousands(rate),
		P99: fmt.Sprintf("%.2f ms", p99*1e3), CPU: fmt.Sprintf("%.1f µs", cpu*1e6), Core: fmt.Sprintf("%.0f %%", rate*cpu*100),
	}
}
