package main

import (
	"fmt"
	"io"
	"maps"
	"text/template"
	"time"
)

// scaling writes docs/scaling.md. Without the measurements that the model needs it writes
// nothing.
func (r report) scaling(out io.Writer) error {
	m, found := r.model()
	if !found {
		return nil
	}
	page, err := template.ParseFS(templates, "templates/scaling.md.tmpl")
	if err != nil {
		return err
	}
	values := r.values()
	maps.Copy(values, map[string]any{
		"RoundTrip": milliseconds(m.roundTrip), "Costs": m.costRows(), "Predictions": r.predictions(m), "Sizes": m.sizeRows(),
		"Query": microseconds(m.query()), "MaxBatch": maxBatch, "Share": percent(share), "CoresEach": coresEach, "WriteShare": percent(writeShare),
		"PostLimit":  thousands(m.lockRate(m.post, maxBatch, m.roundTrip)),
		"KeyedLimit": thousands(m.lockRate(m.keyed, maxBatch, m.roundTrip)),
	})
	return page.Execute(out, values)
}

// model returns the model of the measured costs, and whether all were measured.
func (r report) model() (m model, found bool) {
	if r.postgres == nil {
		return m, false
	}
	m = model{roundTrip: r.postgres.delayed - r.postgres.roundTrip, fsync: r.machine.fsync}
	for _, of := range []struct {
		kind kind
		cost *cost
	}{{kindList, &m.list}, {kindByID, &m.byID}, {kindPost, &m.post}, {kindKeyed, &m.keyed}} {
		samples := r.samplesOf(postgresName(false) + of.kind.name)
		if samples == nil {
			return m, false
		}
		s := medians(samples)
		*of.cost = cost{of.kind, s.cpu, s.postgresCPU, s.batch, s.perQuery}
	}
	return m, true
}

// samplesOf returns the samples of petstore in a scenario, or nil.
func (r report) samplesOf(scenario string) []sample {
	for _, c := range r.comparisons {
		if c.name == scenario {
			return c.samples
		}
	}
	return nil
}

// A costRow is a row of the table of inputs.
type costRow struct{ Name, Server, Postgres, Trips, Locked, Batch, PerQuery string }

func (m model) costRows() []costRow {
	var rows []costRow
	for _, c := range []cost{m.list, m.byID, m.post, m.keyed} {
		rows = append(rows, costRow{
			Name: c.name, Server: microseconds(c.server), Postgres: microseconds(c.postgres), Trips: optional(c.trips), Locked: optional(c.locked),
			Batch: optional(c.batch), PerQuery: optional(c.perQuery),
		})
	}
	return rows
}

// A predictionRow compares a prediction with the measurement.
type predictionRow struct{ Name, Predicted, Limit, Measured, Error string }

func (r report) predictions(m model) []predictionRow {
	var rows []predictionRow
	for _, away := range []bool{false, true} {
		roundTrip := time.Duration(0) // next to PostgreSQL it is part of the CPU times
		if away {
			roundTrip = m.roundTrip
		}
		for _, c := range []cost{m.list, m.byID, m.post, m.keyed} {
			for _, processes := range []int{1, 2, 4} {
				name := postgresName(away) + c.name
				if processes > 1 {
					name += fmt.Sprintf(", %d processes", processes)
				}
				samples := r.samplesOf(name)
				if samples == nil {
					continue
				}
				predicted, limit := m.predict(c, processes, roundTrip)
				measured := medians(samples).rate
				rows = append(rows, predictionRow{
					Name: name, Predicted: thousands(predicted), Limit: limit, Measured: thousands(measured),
					Error: fmt.Sprintf("%+.0f %%", (predicted/measured-1)*100),
				})
			}
		}
	}
	return rows
}

// A sizeRow is a row of the table of sizes.
type sizeRow struct{ Rate, Writes, Processes, Queries, Primary, Lock, LockKeyed string }

func (m model) sizeRows() []sizeRow {
	var rows []sizeRow
	for _, rate := range []float64{1_000, 10_000, 100_000, 1_000_000} {
		s := m.size(rate)
		rows = append(rows, sizeRow{
			Rate: thousands(rate), Writes: thousands(rate * writeShare), Processes: fmt.Sprint(s.processes), Queries: thousands(s.queries),
			Primary: fmt.Sprintf("%.1f", s.primary), Lock: percent(s.lock), LockKeyed: percent(s.lockKeyed),
		})
	}
	return rows
}

func percent(share float64) string { return fmt.Sprintf("%.0f %%", share*100) }
