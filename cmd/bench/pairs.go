package main

import (
	"errors"
	"fmt"
	"io"
	"slices"
	"text/tabwriter"
)

// pair returns the scenario with ours run by two programs, a and b, each on a store of
// its own where it writes.
func (s scenario) pair(a, b string) scenario {
	s.other, s.bodyPath = s.ours, ""
	s.ours.name, s.ours.program = "A "+a, a
	s.other.name, s.other.program = "B "+b, b
	return s
}

// printPairs prints for each scenario the medians of both programs, and the ratios of A
// to B in each round: of the rate (or, at half rate, of the 99th percentile) and of the CPU
// time per request, which varies less where other processes run.
func printPairs(w io.Writer, comparisons []comparison) error {
	for _, c := range comparisons {
		what := "rate"
		if c.halfRate {
			what = "p99"
		}
		ours, other := c.servers()
		fmt.Fprintf(w, "\n%s\n", c.name)
		table := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
		fmt.Fprintln(table, "  \trequests/s\tp99\tCPU per request")
		for _, r := range []serverRow{ours, other} {
			fmt.Fprintf(table, "  %s\t%s\t%s\t%s\n", r.Server, r.Rate, r.P99, r.CPU)
		}
		if err := table.Flush(); err != nil {
			return err
		}
		err := errors.Join(
			printRatios(w, what, c.ratios()),
			printRatios(w, "CPU", c.ratiosOf(func(s sample) float64 { return s.cpu.Seconds() })),
		)
		if err != nil {
			return err
		}
	}
	return nil
}

func printRatios(w io.Writer, what string, ratios []float64) error {
	_, err := fmt.Fprintf(w, "  %s A/B: median %.3f, min %.3f, max %.3f; rounds %.3f\n",
		what, median(ratios), slices.Min(ratios), slices.Max(ratios), ratios)
	return err
}
