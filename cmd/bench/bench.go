package main

import (
	"context"
	_ "embed"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"time"

	"github.com/google/pprof/profile"
	"github.com/prometheus/procfs"
	"golang.org/x/sync/errgroup"

	"example.com/petstore/internal/test/postgrestest"
)

// The client has a core of its own, so that it takes no CPU time from the server.
const (
	serverCore = "0"
	clientCore = "1"
)

// script makes wrk send the requests of a row and print the result.
//
//go:embed requests.lua
var script []byte

// settling is a pause after each run. At the end of a run, each client has a request without a response, which the server
// still runs.
const settling = 300 * time.Millisecond

// A bench starts servers and measures them. The caller must close it.
type bench struct {
	options
	scratch  string               // the folder of all files; close removes it
	script   string               // the file with script
	started  int                  // the number of servers that were started
	postgres *postgrestest.Server // nil until a row needs it
	profiles []rowProfile
}

func newBench(ctx context.Context, o options) (*bench, error) {
	// The files are next to the program, because a folder for temporary files may be in memory.
	scratch, err := os.MkdirTemp(filepath.Dir(o.petstore), "bench-")
	if err != nil {
		return nil, err
	}
	b := &bench{options: o, scratch: scratch, script: filepath.Join(scratch, "requests.lua")}
	return b, errors.Join(os.WriteFile(b.script, script, 0o600), pin(ctx, clientCore))
}

func (b *bench) close() error {
	err := os.RemoveAll(b.scratch)
	if b.postgres != nil {
		err = errors.Join(err, b.postgres.Close())
	}
	return err
}

// pin makes this process, and the processes that it starts later, run only on a core.
func pin(ctx context.Context, core string) error {
	output, err := exec.CommandContext(ctx, "taskset", "--all-tasks", "--cpu-list", "--pid", core, strconv.Itoa(os.Getpid())).CombinedOutput()
	if err != nil {
		return fmt.Errorf("taskset: %w: %s", err, output)
	}
	return nil
}

// cpuTime returns the CPU time that a server has used so far, with the processes of its PostgreSQL server.
func (b *bench) cpuTime(s *server) (used time.Duration, err error) {
	processes, err := procfs.AllProcs()
	if err != nil {
		return 0, err
	}
	for _, p := range processes {
		stat, err := p.Stat()
		if err != nil {
			continue // the process has ended
		}
		if p.PID == s.pid || s.driver == onPostgres && (p.PID == b.postgres.PID() || stat.PPID == b.postgres.PID()) {
			ticks := int(stat.UTime+stat.STime) + stat.CUTime + stat.CSTime // includes children that have exited
			used += time.Duration(ticks) * 10 * time.Millisecond
		}
	}
	return used, nil
}

// A result is what a client measured in one run.
type result struct {
	requests  int
	rate      float64       // requests per second
	mean, p99 time.Duration // latency
	cpu       time.Duration // CPU time of the server and its PostgreSQL server per request
}

// line returns the result as a line of go test -bench. With atRate, ns/op is the mean latency. Otherwise it is
// the duration of the run divided by the number of requests.
func (r result) line(name string, atRate bool) string {
	perOp := time.Duration(float64(time.Second) / r.rate)
	if atRate {
		perOp = r.mean
	}
	return fmt.Sprintf("Benchmark%s\t%d\t%d ns/op\t%.0f req/s\t%d cpu-ns/op\t%d p99-ns", name, r.requests, perOp, r.rate, r.cpu, r.p99)
}

// measureAll measures all rows.
func (b *bench) measureAll(ctx context.Context) error {
	fmt.Fprintf(os.Stdout, "goos: %s\ngoarch: %s\n", runtime.GOOS, runtime.GOARCH)
	for _, r := range b.rows() {
		if err := b.measureRow(ctx, r); err != nil {
			return fmt.Errorf("%s: %w", r.name, err)
		}
	}
	if b.layers {
		fmt.Fprintf(os.Stdout, "\n%s", layerTable(b.profiles))
	}
	return b.writeProfile()
}

// measureRow starts the servers of a row and measures them in turn.
func (b *bench) measureRow(ctx context.Context, r row) error {
	var servers []*server
	for _, p := range r.servers {
		s, err := b.start(ctx, r, p)
		if err != nil {
			return err
		}
		defer s.stop()
		if _, err := b.wrk(ctx, r, s, 0); err != nil { // the first run only warms up the server
			return err
		}
		servers = append(servers, s)
	}
	results := map[string][]result{} // by label
	err := inTurn(servers, b.rounds, func(s *server, round int) error {
		measured, err := b.measure(ctx, r, s, round)
		if err != nil {
			return err
		}
		results[s.label] = append(results[s.label], measured)
		_, err = fmt.Fprintln(os.Stdout, measured.line(r.name+"/server="+s.label, r.rate.Freq > 0))
		return err
	})
	if err != nil {
		return err
	}
	_, err = fmt.Fprintln(os.Stderr, summary(r, results[servers[0].label], results[servers[1].label]))
	return err
}

// summary compares the results of two servers in each round: a reference and petstore, or petstore before and
// after a change. It returns a row of the table in docs/benchmarks.md: the medians of both, at a constant rate those of
// the mean and of the 99th percentile, and the medians of the ratios of the rounds. A ratio greater than 1 is better.
func summary(r row, before, after []result) string {
	var rates, times, tails [2][]float64
	var faster, cheaper []float64
	for i := range before {
		for n, one := range []result{before[i], after[i]} {
			rates[n] = append(rates[n], one.rate)
			times[n] = append(times[n], one.mean.Seconds()*1000)
			tails[n] = append(tails[n], one.p99.Seconds()*1000)
		}
		ratio := after[i].rate / before[i].rate
		if r.rate.Freq > 0 {
			ratio = float64(before[i].mean) / float64(after[i].mean)
		}
		faster, cheaper = append(faster, ratio), append(cheaper, float64(before[i].cpu)/float64(after[i].cpu))
	}
	compared := fmt.Sprintf("%.2f | %.2f |", median(faster), median(cheaper))
	switch {
	case r.least > 0: // the processor time of a few requests cannot be measured
		compared = fmt.Sprintf("%.2f | – |", median(faster))
		fallthrough
	case r.rate.Freq > 0:
		return fmt.Sprintf("| `%s` | %.2f, %.2f ms | %.2f, %.2f ms | %s",
			r.name, median(times[0]), median(tails[0]), median(times[1]), median(tails[1]), compared)
	case r.clients > 1:
		return fmt.Sprintf("| `%s` | %.0f/s | %.0f/s | %s", r.name, median(rates[0]), median(rates[1]), compared)
	}
	return fmt.Sprintf("| `%s` | %.2f ms | %.2f ms | %s", r.name, median(times[0]), median(times[1]), compared)
}

func median(values []float64) float64 {
	slices.Sort(values)
	n := len(values)
	return (values[(n-1)/2] + values[n/2]) / 2
}

// inTurn measures each server once per round. Every second round has the opposite order. So a machine that
// becomes faster or slower favours no server.
func inTurn(servers []*server, rounds int, measure func(s *server, round int) error) error {
	for round := 1; round <= rounds; round++ {
		for i := range servers {
			if round%2 == 0 {
				i = len(servers) - 1 - i
			}
			if err := measure(servers[i], round); err != nil {
				return fmt.Errorf("%s: %w", servers[i].label, err)
			}
		}
	}
	return nil
}

// measure runs a client, and adds the CPU time that the server has used meanwhile to the result.
func (b *bench) measure(ctx context.Context, r row, s *server, round int) (result, error) {
	client := b.wrk
	if r.rate.Freq > 0 {
		client = b.attack
	}
	before, err := b.cpuTime(s)
	if err != nil {
		return result{}, err
	}
	var group errgroup.Group
	var used *profile.Profile
	if b.profiled() && s.label == "petstore" {
		group.Go(func() (err error) { used, err = cpuProfile(ctx, s, max(b.duration, r.least)); return err })
	}
	measured, err := client(ctx, r, s, round)
	if err = errors.Join(err, group.Wait()); err != nil {
		return result{}, err
	}
	if used != nil {
		b.profiles = append(b.profiles, rowProfile{r.name, measured.requests, used})
	}
	after, err := b.cpuTime(s)
	measured.cpu = (after - before) / time.Duration(measured.requests)
	time.Sleep(settling)
	return measured, err
}

// cpuProfile fetches the CPU profile of petstore during a run.
func cpuProfile(ctx context.Context, s *server, duration time.Duration) (*profile.Profile, error) {
	encoded, err := get(ctx, fmt.Sprintf("http://%s/debug/pprof/profile?seconds=%.0f", s.admin, duration.Seconds()), "")
	if err != nil {
		return nil, err
	}
	return profile.ParseData(encoded)
}

// writeProfile merges all profiles into one file for the compiler (go.dev/doc/pgo). The file does not
// contain the folder of the program.
func (b *bench) writeProfile() error {
	if b.profile == "" {
		return nil
	}
	var all []*profile.Profile
	for _, p := range b.profiles {
		all = append(all, p.Profile)
	}
	merged, err := profile.Merge(all)
	if err != nil {
		return err
	}
	for _, m := range merged.Mapping {
		m.File = filepath.Base(m.File)
	}
	file, err := os.Create(filepath.Clean(b.profile))
	if err != nil {
		return err
	}
	return errors.Join(merged.Write(file), file.Close())
}
