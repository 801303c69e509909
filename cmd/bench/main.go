// Command bench measures the petstore program against reference servers on this machine
// and writes docs/benchmarks.md, docs/benchmarks.svg and docs/scaling.md, or measures it
// against another build of petstore and prints the result. Run it from the root of the
// repository, with make bench.
//
// A server is pinned to core 0, and PostgreSQL with it, and the client to core 1. The two
// servers of a scenario are measured alternately and each round gives one ratio, so that a
// change in the speed of the machine affects both.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/signal"
	"path/filepath"
	"regexp"
	"slices"
	"syscall"
	"time"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGINT, syscall.SIGTERM)
	err := run(ctx, os.Args[1:], os.Stdout, os.Stderr)
	if err != nil && ctx.Err() != nil {
		err = errors.New("interrupted")
	}
	stop()
	if err != nil && !errors.Is(err, flag.ErrHelp) {
		fmt.Fprintln(os.Stderr, "bench:", err)
		os.Exit(1)
	}
}

// options are the flags.
type options struct {
	rounds   int
	duration time.Duration
	big      int
	stores   string
	only     *regexp.Regexp
	petstore string
	against  string
	docs     string
	profile  string
}

func run(ctx context.Context, args []string, stdout, stderr io.Writer) error {
	if len(args) > 0 && args[0] == "reference" {
		return serveReference(ctx, args[1:], stderr)
	}
	o, err := parse(args, stderr)
	if err != nil {
		return err
	}
	h, err := newHarness(o, stderr)
	if err != nil {
		return err
	}
	defer h.close()
	if o.against != "" {
		comparisons, err := h.compareAll(ctx, o.scenarios())
		if err != nil {
			return err
		}
		return printPairs(stdout, comparisons)
	}
	report, err := h.measureAll(ctx, o)
	if err != nil {
		return err
	}
	if o.profile != "" {
		if err := h.writeProfile(o.profile); err != nil {
			return err
		}
	}
	if o.only != nil || o.profile != "" {
		return errors.Join(report.markdown(stdout), report.scaling(stdout))
	}
	return report.write(o.docs)
}

func parse(args []string, stderr io.Writer) (options, error) {
	var o options
	flags := flag.NewFlagSet("bench", flag.ContinueOnError)
	flags.SetOutput(stderr)
	flags.IntVar(&o.rounds, "rounds", 3, "measure each server this many times")
	flags.DurationVar(&o.duration, "duration", 6*time.Second, "duration of one measurement, in whole seconds")
	flags.IntVar(&o.big, "big", 10_000_000, "number of pets in the big store; 0 leaves out the scenarios that need it")
	flags.StringVar(&o.stores, "stores", "", "keep the stores in this `folder` and reuse those in it (default: a folder next to the program, removed at the end)")
	flags.StringVar(&o.petstore, "petstore", filepath.Join("bin", "petstore"), "the `program` to measure")
	flags.StringVar(&o.against, "against", "", "measure against this other petstore `program` instead of the references, and print the ratios")
	flags.StringVar(&o.docs, "docs", "docs", "write the report to this `folder`")
	flags.StringVar(&o.profile, "profile", "", "write a CPU profile of petstore in all scenarios to this `file`, and print the report")
	flags.Func("only", "measure only the scenarios and metrics whose name matches this `regexp`, and print the report", func(s string) (err error) {
		o.only, err = regexp.Compile(s)
		return err
	})
	if err := flags.Parse(args); err != nil {
		return options{}, err
	}
	return o, o.validate(flags.NArg())
}

func (o options) validate(arguments int) error {
	switch {
	case arguments > 0:
		return errors.New("unexpected argument; use flags only")
	case o.rounds < 1:
		return errors.New("-rounds must be 1 or more")
	case o.duration < time.Second || o.duration%time.Second != 0:
		return errors.New("-duration must be whole seconds, as wrk requires")
	case o.big != 0 && o.big < smallest:
		return fmt.Errorf("-big must be 0, or %d or more", smallest)
	case o.against != "" && o.profile != "":
		return errors.New("-against and -profile exclude each other")
	case len(o.scenarios()) == 0 && (o.against != "" || len(o.metrics()) == 0):
		return fmt.Errorf("-only %s matches nothing to measure; see docs/benchmarks.md for the names", o.only)
	}
	return nil
}

// scenarios returns the scenarios to compare, with the other petstore where there is one.
func (o options) scenarios() []scenario {
	var selected []scenario
	for _, s := range scenarios(o.big) {
		if o.only != nil && !o.only.MatchString(s.name) || o.against != "" && s.ours.reference != "" {
			continue
		}
		if o.against != "" {
			s = s.pair(o.petstore, o.against)
		}
		selected = append(selected, s)
	}
	return selected
}

// metrics returns the metrics to measure.
func (o options) metrics() []metric {
	return slices.DeleteFunc(metrics(o.big), func(m metric) bool { return o.only != nil && !o.only.MatchString(m.name) })
}
