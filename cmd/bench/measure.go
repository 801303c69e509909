package main

import (
	"context"
	"errors"
	"fmt"
	"time"
)

// A sample is a turn of a server.
type sample struct {
	rate float64       // answers a second
	p99  time.Duration // 99 of 100 answers came faster
	cpu  time.Duration // of the server, for an answer
}

// A comparison is what came out of a work, round by round.
type comparison struct {
	work
	ours, other []sample
}

// ratios are the rates of ours to those of the other, each of one round.
func (c comparison) ratios() []float64 {
	ratios := make([]float64, len(c.ours))
	for i := range ratios {
		ratios[i] = c.ours[i].rate / c.other[i].rate
	}
	return ratios
}

// compare starts both servers of a work and lets them take turns.
func (l *lab) compare(ctx context.Context, w work) (comparison, error) {
	c := comparison{work: w}
	ours, err := l.start(ctx, w.ours, nil, "")
	if err != nil {
		return c, err
	}
	defer ours.stop()
	var same []byte
	if w.same != "" {
		if same, err = ours.get(ctx, w.same); err != nil {
			return c, err
		}
	}
	other, err := l.start(ctx, w.other, same, ours.key)
	if err != nil {
		return c, err
	}
	defer other.stop()
	return c, l.takeTurns(ctx, &c, ours, other)
}

func (l *lab) takeTurns(ctx context.Context, c *comparison, ours, other *server) error {
	for _, turn := range []struct {
		*server
		ask
	}{{ours, c.work.ours.ask}, {other, c.work.other.ask}} {
		if _, err := l.wrk(ctx, turn.server, turn.ask, 0, min(l.duration, 3*time.Second)); err != nil {
			return fmt.Errorf("warm up: %w", err)
		}
	}
	for round := 1; round <= l.rounds; round++ {
		a, err := l.measure(ctx, ours, c.work.ours.ask, round)
		if err != nil {
			return fmt.Errorf("%s: %w", c.work.ours.name, err)
		}
		b, err := l.measure(ctx, other, c.work.other.ask, round)
		if err != nil {
			return fmt.Errorf("%s: %w", c.work.other.name, err)
		}
		c.ours, c.other = append(c.ours, a), append(c.other, b)
		l.tell("  round %d: %s to %s a second, %.2f", round, thousands(a.rate), thousands(b.rate), a.rate/b.rate)
	}
	return nil
}

// measure gives a server its turn.
func (l *lab) measure(ctx context.Context, s *server, a ask, round int) (sample, error) {
	before, err := s.cpu()
	if err != nil {
		return sample{}, err
	}
	profiled := l.profile(ctx, s)
	load, err := l.wrk(ctx, s, a, round, l.duration)
	if err = errors.Join(err, <-profiled); err != nil {
		return sample{}, err
	}
	after, err := s.cpu()
	return sample{rate: load.rate, p99: load.p99, cpu: (after - before) / time.Duration(load.requests)}, err
}

// measureAll does all works and gauges whose names are wanted.
func measureAll(ctx context.Context, l *lab, o options) (report, error) {
	wanted := func(name string) bool { return o.only == nil || o.only.MatchString(name) }
	r := report{rounds: o.rounds, duration: o.duration, date: time.Now()}
	var err error
	if r.machine, err = inspect(ctx, l.scratch); err != nil {
		return r, err
	}
	l.tell("load average %s: what else runs is measured, too", r.machine.load)
	for _, w := range works(o.big) {
		if !wanted(w.name) {
			continue
		}
		l.tell("%s", w.name)
		c, err := l.compare(ctx, w)
		if err != nil {
			return r, fmt.Errorf("%s: %w", w.name, err)
		}
		r.comparisons = append(r.comparisons, c)
	}
	for _, g := range gauges(o.big) {
		if !wanted(g.name) {
			continue
		}
		l.tell("%s", g.name)
		reading, err := l.read(ctx, g)
		if err != nil {
			return r, fmt.Errorf("%s: %w", g.name, err)
		}
		r.readings = append(r.readings, reading)
	}
	return r, nil
}
