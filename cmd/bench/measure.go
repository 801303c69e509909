package main

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"
)

// A sample is the result of one run of a client against a server.
type sample struct {
	requests int
	rate     float64       // requests per second
	p99      time.Duration // 99th percentile of the latency
	cpu      time.Duration // CPU time of the server per request

	// On PostgreSQL, 0 for none:
	postgresCPU time.Duration // CPU time of all its processes per request
	batch       float64       // POSTs of petstore per commit
	perQuery    float64       // requests per transaction that is no batch of petstore
}

// A comparison is a scenario and its samples, one per round of each server.
type comparison struct {
	scenario
	samples, otherSamples []sample
}

// ratios returns for each round the rate of ours relative to the other's, or, at half
// rate, the 99th percentile.
func (c comparison) ratios() []float64 {
	if c.halfRate {
		return c.ratiosOf(func(s sample) float64 { return s.p99.Seconds() })
	}
	return c.ratiosOf(func(s sample) float64 { return s.rate })
}

func (c comparison) ratiosOf(value func(sample) float64) []float64 {
	ratios := make([]float64, len(c.samples))
	for i := range ratios {
		ratios[i] = value(c.samples[i]) / value(c.otherSamples[i])
	}
	return ratios
}

// compare starts both servers of a scenario and measures them alternately, one pair per
// round.
func (h *harness) compare(ctx context.Context, s scenario) (comparison, error) {
	c := comparison{scenario: s}
	ours, err := h.start(ctx, s.ours, nil, "")
	if err != nil {
		return c, err
	}
	defer ours.stop()
	var body []byte
	if s.bodyPath != "" {
		if body, err = ours.get(ctx, s.bodyPath); err != nil {
			return c, err
		}
	}
	other, err := h.start(ctx, s.other, body, ours.key)
	if err != nil {
		return c, err
	}
	defer other.stop()
	return c, h.measurePairs(ctx, &c, ours, other)
}

func (h *harness) measurePairs(ctx context.Context, c *comparison, ours, other *process) error {
	for _, p := range []*process{ours, other} {
		warmUp, err := h.wrkAll(ctx, p, 0, min(h.duration, 3*time.Second))
		if err != nil {
			return fmt.Errorf("%s: warm up: %w", p.name, err)
		}
		if c.halfRate {
			p.rate = warmUp.rate / 2
		}
	}
	if c.other.reference == "" {
		other.rate = ours.rate // two builds of petstore get the same load
	}
	for round := 1; round <= h.rounds; round++ {
		a, err := h.measure(ctx, ours, round)
		if err != nil {
			return err
		}
		b, err := h.measure(ctx, other, round)
		if err != nil {
			return err
		}
		c.samples, c.otherSamples = append(c.samples, a), append(c.otherSamples, b)
		h.logf("  round %d: %s and %s requests/s, p99 %s and %s: ratio %.3f", round,
			thousands(a.rate), thousands(b.rate), milliseconds(a.p99), milliseconds(b.p99), c.ratios()[round-1])
	}
	return nil
}

// measure runs a client against a server: wrk, or, where the process has a rate, the
// one that sends at that rate.
func (h *harness) measure(ctx context.Context, p *process, round int) (sample, error) {
	before, err := h.usage(ctx, p)
	if err != nil {
		return sample{}, err
	}
	profiled := h.profile(ctx, p)
	var result sample
	if p.rate > 0 {
		result, err = sendAtRate(ctx, p, round, h.duration)
	} else {
		result, err = h.wrkAll(ctx, p, round, h.duration)
	}
	if err = errors.Join(err, <-profiled); err != nil {
		return sample{}, fmt.Errorf("%s: %w", p.name, err)
	}
	after, err := h.usage(ctx, p)
	result.addUsage(before, after)
	return result, err
}

// compareAll compares all scenarios.
func (h *harness) compareAll(ctx context.Context, all []scenario) ([]comparison, error) {
	if slices.ContainsFunc(all, func(s scenario) bool { return s.ours.postgres }) {
		if err := h.startPostgres(ctx); err != nil { // now, not after the other scenarios
			return nil, err
		}
	}
	var comparisons []comparison
	for _, s := range all {
		h.logf("%s", s.name)
		c, err := h.compare(ctx, s)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", s.name, err)
		}
		comparisons = append(comparisons, c)
	}
	return comparisons, nil
}

// measureAll measures all scenarios and metrics that o selects.
func (h *harness) measureAll(ctx context.Context, o options) (report, error) {
	r := report{rounds: o.rounds, duration: o.duration, date: time.Now()}
	var err error
	if r.machine, err = inspect(ctx, h.scratch); err != nil {
		return r, err
	}
	h.logf("load average %s; other processes distort the results", r.machine.load)
	if r.comparisons, err = h.compareAll(ctx, o.scenarios()); err != nil {
		return r, err
	}
	if h.postgres != nil {
		r.postgres = &h.postgres.postgresInfo
	}
	for _, m := range o.metrics() {
		h.logf("%s", m.name)
		result, err := h.measureMetric(ctx, m)
		if err != nil {
			return r, fmt.Errorf("%s: %w", m.name, err)
		}
		r.measurements = append(r.measurements, result)
	}
	return r, nil
}
