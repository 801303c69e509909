package main

import (
	"math"
	"testing"
	"time"
)

// exampleModel has round numbers.
func exampleModel() model {
	const µs = time.Microsecond
	return model{
		list:      cost{kind: kindList, server: 20 * µs, postgres: 2 * µs, perQuery: 10},
		byID:      cost{kind: kindByID, server: 40 * µs, postgres: 30 * µs, perQuery: 1},
		post:      cost{kind: kindPost, server: 30 * µs, postgres: 10 * µs, batch: 32},
		keyed:     cost{kind: kindKeyed, server: 50 * µs, postgres: 30 * µs, batch: 32},
		roundTrip: time.Millisecond, fsync: 100 * µs,
	}
}

func TestModelPredictsTheLowestLimit(t *testing.T) {
	t.Parallel()
	m := exampleModel()
	for _, test := range []struct {
		name      string
		cost      cost
		processes int
		roundTrip time.Duration
		rate      float64
		limit     string
	}{
		{"list, no distance", m.list, 1, 0, 1e6 / 22, "core"},
		{"list, one process", m.list, 1, m.roundTrip, 64 / 1.5e-3, "clients"},
		{"list, two processes", m.list, 2, m.roundTrip, 1e6 / 22, "core"},
		{"POST, no distance", m.post, 1, 0, 32 / (100e-6 + 32*40e-6), "writer"},
		{"POST, one process", m.post, 1, m.roundTrip, 32 / (3.1e-3 + 32*40e-6), "writer"},
		{"POST, four processes", m.post, 4, m.roundTrip, 32 / (2.1e-3 + 32*10e-6), "lock"},
	} {
		rate, limit := m.predict(test.cost, test.processes, test.roundTrip)
		if math.Abs(rate/test.rate-1) > 1e-9 || limit != test.limit {
			t.Errorf("%s: predicted %.1f by the %s, want %.1f by the %s", test.name, rate, limit, test.rate, test.limit)
		}
	}
}

func TestModelSizes(t *testing.T) {
	t.Parallel()
	m := exampleModel()
	for _, want := range []size{
		// 0.95 × 20 µs + 0.05 × 50 µs are 21.5 µs of petstore per request. A query takes 20 µs.
		{rate: 1_000, processes: 2, queries: 1_000, primary: (1_000*20e-6 + 50*30e-6) / 0.7, lock: 50 * 4.66e-3 / 256, lockKeyed: 50 * 12.78e-3 / 256},
		{rate: 1_000_000, processes: 8, queries: 8_000, primary: (8_000*20e-6 + 50_000*30e-6) / 0.7, lock: 50_000 * 4.66e-3 / 256, lockKeyed: 50_000 * 12.78e-3 / 256},
	} {
		got := m.size(want.rate)
		same := func(a, b float64) bool { return math.Abs(a/b-1) < 1e-9 }
		if got.processes != want.processes || !same(got.queries, want.queries) || !same(got.primary, want.primary) ||
			!same(got.lock, want.lock) || !same(got.lockKeyed, want.lockKeyed) {
			t.Errorf("%v requests/s: got %+v, want %+v", want.rate, got, want)
		}
	}
}
