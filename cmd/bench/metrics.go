package main

import (
	"context"
	"fmt"
	"path/filepath"
	"slices"
)

// A metric is a number of petstore that is not compared with another server.
type metric struct {
	name           string
	unit           string
	smaller        bool    // is better
	required, goal float64 // least values, or largest where smaller is better; 0 for none
	measure        func(ctx context.Context, h *harness, round int) (float64, error)
}

// metrics returns all metrics. big is the number of pets in the big store, 0 leaves
// out what needs it.
func metrics(big int) []metric {
	all := []metric{{name: "petstore seed, pets per second", required: 50_000, measure: seedRate}}
	if big == 0 {
		return all
	}
	pets := thousands(float64(big)) + " pets"
	byDefault := withMetricsAndLog(big, request{})
	return append(
		all,
		metric{
			name: "resident memory after lists and reads by id, " + pets, unit: "MB", smaller: true, required: 96, goal: 64,
			measure: func(ctx context.Context, h *harness, round int) (float64, error) {
				p, err := h.start(ctx, byDefault, nil, "")
				if err != nil {
					return 0, err
				}
				defer p.stop()
				for _, r := range []request{randomPage(1, big-pageSize), randomID(big)} {
					if _, err := h.wrk(ctx, p, r, round, h.duration); err != nil {
						return 0, err
					}
				}
				bytes, err := p.pid.resident()
				return float64(bytes) / 1e6, err
			},
		},
		metric{
			name: "start to first response, " + pets, unit: "ms", smaller: true, required: 100, goal: 30,
			measure: func(ctx context.Context, h *harness, _ int) (float64, error) {
				p, err := h.start(ctx, byDefault, nil, "")
				if err != nil {
					return 0, err
				}
				defer p.stop()
				_, err = p.get(ctx, listPath)
				return p.ready.Seconds() * 1e3, err
			},
		},
	)
}

// seedRate seeds a store for about as long as a run of a server takes.
func seedRate(ctx context.Context, h *harness, round int) (float64, error) {
	pets := 50_000 * int(h.duration.Seconds())
	_, took, err := h.seed(ctx, store{dsn: filepath.Join(h.scratch, fmt.Sprintf("seeded-%d.db", round))}, pets)
	return float64(pets) / took.Seconds(), err
}

// A measurement is a metric and its values, one per round.
type measurement struct {
	metric
	values []float64
}

func (h *harness) measureMetric(ctx context.Context, m metric) (measurement, error) {
	result := measurement{metric: m}
	for round := 1; round <= h.rounds; round++ {
		value, err := m.measure(ctx, h, round)
		if err != nil {
			return result, err
		}
		result.values = append(result.values, value)
		h.logf("  round %d: %s", round, number(value, m.unit))
	}
	return result, nil
}

// median returns the middle value, or the mean of the two in the middle.
func median(values []float64) float64 {
	sorted := slices.Sorted(slices.Values(values))
	return (sorted[(len(sorted)-1)/2] + sorted[len(sorted)/2]) / 2
}
