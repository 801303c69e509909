package main

import (
	"context"
	"fmt"
	"path/filepath"
	"slices"
)

// A gauge is a number of petstore alone.
type gauge struct {
	name         string
	unit         string
	smaller      bool    // is better
	atLeast, aim float64 // or at most; 0 where none is set
	read         func(ctx context.Context, l *lab, round int) (float64, error)
}

// gauges are all gauges; big is the number of animals in the big store, 0 for none.
func gauges(big int) []gauge {
	all := []gauge{{name: "petstore seed, animals a second", atLeast: 50_000, read: seedingRate}}
	if big == 0 {
		return all
	}
	of := thousands(float64(big)) + " animals"
	asShipped := side{name: "petstore", animals: big}
	return append(
		all,
		gauge{
			name: "resident memory after lists and ids, " + of, unit: "MB", smaller: true, atLeast: 96, aim: 64,
			read: func(ctx context.Context, l *lab, round int) (float64, error) {
				s, err := l.start(ctx, asShipped, nil, "")
				if err != nil {
					return 0, err
				}
				defer s.stop()
				for _, a := range []ask{randomPage(1, big-pageSize), randomID(big)} {
					if _, err := l.wrk(ctx, s, a, round, l.duration); err != nil {
						return 0, err
					}
				}
				bytes, err := s.resident()
				return float64(bytes) / 1e6, err
			},
		},
		gauge{
			name: "start to first response, " + of, unit: "ms", smaller: true, atLeast: 100, aim: 30,
			read: func(ctx context.Context, l *lab, _ int) (float64, error) {
				s, err := l.start(ctx, asShipped, nil, "")
				if err != nil {
					return 0, err
				}
				defer s.stop()
				_, err = s.get(ctx, "/v1/pets")
				return s.ready.Seconds() * 1e3, err
			},
		},
	)
}

// seedingRate fills a store for about as long as a turn takes.
func seedingRate(ctx context.Context, l *lab, round int) (float64, error) {
	animals := 50_000 * int(l.duration.Seconds())
	_, took, err := l.seed(ctx, filepath.Join(l.scratch, fmt.Sprintf("seeded-%d.db", round)), animals)
	return float64(animals) / took.Seconds(), err
}

// A reading is what came out of a gauge, round by round.
type reading struct {
	gauge
	values []float64
}

func (l *lab) read(ctx context.Context, g gauge) (reading, error) {
	r := reading{gauge: g}
	for round := range l.rounds {
		value, err := g.read(ctx, l, round+1)
		if err != nil {
			return r, err
		}
		r.values = append(r.values, value)
		l.tell("  round %d: %s", round+1, number(value, g.unit))
	}
	return r, nil
}

// median is the middle one, or the mean of the two in the middle.
func median(values []float64) float64 {
	sorted := slices.Sorted(slices.Values(values))
	return (sorted[(len(sorted)-1)/2] + sorted[len(sorted)/2]) / 2
}
