package main

import (
	"embed"
	"errors"
	"io"
	"maps"
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
	postgres     *postgresInfo // nil if nothing was measured on PostgreSQL
}

// write writes benchmarks.md, benchmarks.svg and scaling.md to a folder.
func (r report) write(folder string) error {
	var text, plot, scaling strings.Builder
	if err := errors.Join(r.markdown(&text), r.plot(&plot), r.scaling(&scaling)); err != nil {
		return err
	}
	return errors.Join(
		os.WriteFile(filepath.Join(folder, "benchmarks.md"), []byte(text.String()), 0o644),
		os.WriteFile(filepath.Join(folder, "benchmarks.svg"), []byte(plot.String()), 0o644),
		os.WriteFile(filepath.Join(folder, "scaling.md"), []byte(scaling.String()), 0o644),
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
type serverRow struct {
	Scenario, Server, Rate, P99, CPU, Core     string
	PostgresCPU, PostgresCore, Batch, PerQuery string
}

// markdown writes the report as text.
func (r report) markdown(out io.Writer) error {
	page, err := template.ParseFS(templates, "templates/benchmarks.md.tmpl")
	if err != nil {
		return err
	}
	values := r.values()
	maps.Copy(values, map[string]any{
		"Rows": r.rows(false), "Latencies": r.latencies(), "Servers": r.servers(false),
		"PostgresRows": r.rows(true), "PostgresServers": r.servers(true),
	})
	return page.Execute(out, values)
}

// values are those that all pages show.
func (r report) values() map[string]any {
	versions := make([]string, len(r.machine.versions))
	for i, v := range r.machine.versions {
		versions[i] = v.name + " " + v.number
	}
	values := map[string]any{
		"CPU": r.machine.cpu, "Cores": r.machine.cores, "Load": r.machine.load, "Kernel": r.machine.kernel,
		"Versions": strings.Join(versions, ", "), "Date": r.date.Format("2 January 2006"),
		"Rounds": r.rounds, "Duration": r.duration, "Connections": connections,
		"Fsync": milliseconds(r.machine.fsync), "FsyncP99": milliseconds(r.machine.fsyncP99),
	}
	if pg := r.postgres; pg != nil {
		maps.Copy(values, map[string]any{
			"Postgres": pg.version, "PostgresSettings": pg.settings,
			"Direct": milliseconds(pg.roundTrip), "Delayed": milliseconds(pg.delayed), "Distance": milliseconds(distance), "Readers": readers,
		})
	}
	return values
}

func (r report) rows(onPostgres bool) []row {
	var rows []row
	for _, c := range r.comparisons {
		if !c.halfRate && c.ours.postgres == onPostgres {
			rows = append(rows, newRow(c.name, c.ratios(), "", false, c.required, c.goal))
		}
	}
	if onPostgres {
		return rows
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

func (r report) servers(onPostgres bool) []serverRow {
	var rows []serverRow
	for _, c := range r.comparisons {
		if !c.halfRate && c.ours.postgres == onPostgres {
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
	s := medians(samples)
	r := serverRow{
		Scenario: scenario, Server: server, Rate: thousands(s.rate),
		P99: milliseconds(s.p99), CPU: microseconds(s.cpu), Core: percent(s.rate * s.cpu.Seconds()),
		Batch: optional(s.batch), PerQuery: optional(s.perQuery),
	}
	if s.postgresCPU > 0 {
		r.PostgresCPU, r.PostgresCore = microseconds(s.postgresCPU), percent(s.rate*s.postgresCPU.Seconds())
	}
	return r
}

// medians returns the median of each number of the samples.
func medians(samples []sample) sample {
	of := func(value func(sample) float64) float64 {
		values := make([]float64, len(samples))
		for i, s := range samples {
			values[i] = value(s)
		}
		return median(values)
	}
	return sample{
		rate:        of(func(s sample) float64 { return s.rate }),
		p99:         time.Duration(of(func(s sample) float64 { return float64(s.p99) })),
		cpu:         time.Duration(of(func(s sample) float64 { return float64(s.cpu) })),
		postgresCPU: time.Duration(of(func(s sample) float64 { return float64(s.postgresCPU) })),
		batch:       of(func(s sample) float64 { return s.batch }),
		perQuery:    of(func(s sample) float64 { return s.perQuery }),
	}
}
