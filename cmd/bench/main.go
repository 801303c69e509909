// Command bench measures the petstore program against a program that a user could write instead, or against
// another build of petstore. It prints the results in the format of go test -bench, for benchstat. Run it
// from the root of the repository, with make bench.
//
// The servers of a row run at the same time and are measured in turn, so that a change in the speed of the
// machine affects all of them. The servers and PostgreSQL run on core 0, the client runs on core 1.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"path/filepath"
	"regexp"
	"syscall"
	"time"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGINT, syscall.SIGTERM)
	err := run(ctx, os.Args[1:])
	stop()
	if err != nil && !errors.Is(err, flag.ErrHelp) {
		fmt.Fprintln(os.Stderr, "bench:", err)
		os.Exit(1)
	}
}

func run(ctx context.Context, args []string) error {
	if len(args) > 0 && args[0] == "reference" {
		return serveReference(ctx, args[1:])
	}
	o, err := parse(args)
	if err != nil {
		return err
	}
	b, err := newBench(ctx, o)
	if err != nil {
		return err
	}
	return errors.Join(b.measureAll(ctx), b.close())
}

// options are the values of the flags.
type options struct {
	petstore string
	against  string
	only     *regexp.Regexp
	rounds   int
	duration time.Duration
	profile  string
	layers   bool
}

// profiled reports whether a flag needs the CPU profiles of petstore.
func (o options) profiled() bool { return o.profile != "" || o.layers }

func parse(args []string) (options, error) {
	o := options{only: &regexp.Regexp{}}
	flags := flag.NewFlagSet("bench", flag.ContinueOnError)
	flags.StringVar(&o.petstore, "petstore", filepath.Join("bin", "petstore"), "the `program` to measure")
	flags.StringVar(&o.against, "against", "", "measure against this other petstore `program` instead of the references")
	flags.IntVar(&o.rounds, "rounds", 6, "measure each server this many times; benchstat needs 6 for its confidence intervals")
	flags.DurationVar(&o.duration, "duration", 2*time.Second, "duration of one measurement, in whole seconds")
	flags.StringVar(&o.profile, "profile", "", "write a CPU profile of petstore in all rows to this `file`")
	flags.BoolVar(&o.layers, "layers", false, "print the processor time of a request to petstore by layer, from CPU profiles")
	flags.TextVar(o.only, "only", regexp.MustCompile(""), "measure only the rows whose name matches this `regexp`, as ^Post/store=sqlite/load=64$")
	if err := flags.Parse(args); err != nil {
		return options{}, err
	}
	if flags.NArg() > 0 {
		return o, errors.New("unexpected argument; use flags only")
	}
	if o.rounds < 1 {
		return o, fmt.Errorf("-rounds is %d; use 1 or more", o.rounds)
	}
	if len(o.rows()) == 0 {
		return o, fmt.Errorf("-only %s matches no row; see docs/benchmarks.md for the names", o.only)
	}
	return o, nil
}
