// Command bench measures the petstore program against references, on this machine,
// and writes docs/benchmarks.md and docs/benchmarks.svg. It runs from the root of
// the repository: make bench
//
// A server has core 0 and wrk core 1. Two servers that are compared take turns, and
// each round gives one ratio, so that a machine which slows down slows both.
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
	work     string
	only     *regexp.Regexp
	petstore string
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
	l, err := newLab(o, stderr)
	if err != nil {
		return err
	}
	defer l.close()
	report, err := measureAll(ctx, l, o)
	if err != nil {
		return err
	}
	if o.profile != "" {
		if err := l.writeProfile(o.profile); err != nil {
			return err
		}
	}
	if o.only != nil || o.profile != "" {
		return report.markdown(stdout)
	}
	return report.write(o.docs)
}

func parse(args []string, stderr io.Writer) (options, error) {
	var o options
	flags := flag.NewFlagSet("bench", flag.ContinueOnError)
	flags.SetOutput(stderr)
	flags.IntVar(&o.rounds, "rounds", 3, "how often each server has its turn")
	flags.DurationVar(&o.duration, "duration", 10*time.Second, "how long a turn takes")
	flags.IntVar(&o.big, "big", 10_000_000, "how many animals the big store has; 0 leaves out what needs it")
	flags.StringVar(&o.work, "work", "", "keep the stores in this `folder` and use those that are in it (default: one beside the program, removed at the end)")
	flags.StringVar(&o.petstore, "petstore", filepath.Join("bin", "petstore"), "the `program` to measure")
	flags.StringVar(&o.docs, "docs", "docs", "the `folder` to write the report to")
	flags.StringVar(&o.profile, "profile", "", "write a CPU profile of petstore at all of its works to this `file`, and print the report")
	flags.Func("only", "do only the work whose name matches the `regexp`, and print the report", func(s string) (err error) {
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
		return errors.New("there are no arguments but flags")
	case o.rounds < 1:
		return errors.New("-rounds must be 1 or more")
	case o.duration < time.Second || o.duration%time.Second != 0:
		return errors.New("-duration must be whole seconds, which is what wrk takes")
	case o.big != 0 && o.big < tiny:
		return fmt.Errorf("-big must be 0, or %d or more", tiny)
	}
	return nil
}
