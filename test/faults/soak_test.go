package faults

import (
	"context"
	"flag"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"example.com/petstore/test/harness"
	"example.com/petstore/test/ledger"
)

var (
	soak     = flag.Duration("soak", 0, "how long the soak takes, 30 minutes for docs/reliability.md")
	soakPlot = flag.String("soakplot", "", "the SVG file to draw the soak to")
)

// TestSoakIsFlat runs mixed load and expects that what the server uses does not grow, that hardly
// any request or command fails, and, with the race detector, that there is no data race.
func TestSoakIsFlat(t *testing.T) {
	const samples, sellers = 60, 8
	length := max(*soak, pick(5*time.Second, 30*time.Second))
	l := ledger.New()
	s := start(t, t.TempDir(), "")
	ctx, cancel := context.WithTimeout(t.Context(), length)
	defer cancel()
	var wait sync.WaitGroup
	var keys keyChanges
	clients := s.clients(l)
	wait.Go(func() { clients.Run(ctx, sellers) })
	wait.Go(func() { clients.Read(ctx, 4, 10*time.Millisecond) })
	wait.Go(func() { keys.run(ctx, t, s.folder) })
	plot := newPlot("resident memory in MiB", "heap of Go in MiB", "goroutines", "descriptors", "WAL in MiB", "99th percentile of a write in ms")
	for ctx.Err() == nil {
		begun := time.Now()
		select {
		case <-time.After(length / samples):
		case <-ctx.Done():
		}
		r := s.resources(t)
		plot.add(r.memory, r.heap, r.goroutines, r.descriptors, r.wal, float64(l.Writes(begun).P99().Microseconds())/1000)
	}
	wait.Wait()
	s.stop(t, l)
	if log := s.Log.String(); strings.Contains(log, "DATA RACE") {
		t.Errorf("the race detector has found something: %s", log)
	}
	c := l.Counts()
	wantFew(t, "requests", c.Unavailable, c.Acknowledged+c.Refused+c.Unknown, 2*sellers)
	wantFew(t, "commands", keys.failed, keys.done, 1)
	if harness.Race() { // it keeps 8 bytes for each defer (go.dev/doc/articles/race_detector), and makes all slow
		plot = plot[1 : len(plot)-1]
	}
	if *soak == 0 { // memory, the WAL and latency are flat only after minutes
		plot = slices.DeleteFunc(plot, func(s series) bool { return s.name != "goroutines" && s.name != "descriptors" })
	}
	plot.wantFlat(t)
	if *soakPlot != "" {
		plot.save(t, *soakPlot, length)
	}
	t.Logf("%v; %v; %v; %d of %d commands failed; lost 0, doubled 0", length, plot, l, keys.failed, keys.done)
}

// wantFew expects that 1 % failed at most. On a machine that does much else, the lock of the store
// may be held by a process that does not run: then all that are under way at once may fail.
func wantFew(t *testing.T, what string, failed, all, atOnce int) {
	t.Helper()
	if failed > max(all/100, atOnce) {
		t.Errorf("%d of %d %s failed, want 1 %% at most", failed, all, what)
	}
}

// keyChanges are commands that create and revoke API keys.
type keyChanges struct{ done, failed int }

// run creates and revokes API keys until ctx ends.
func (k *keyChanges) run(ctx context.Context, t *testing.T, folder string) {
	run := func(args ...string) bool {
		k.done++
		output, err := harness.Command(context.WithoutCancel(t.Context()), folder, args...).CombinedOutput()
		if err != nil {
			k.failed++
			t.Logf("%v: %v %s", args, err, output)
		}
		return err == nil
	}
	for id := 2; ctx.Err() == nil; { // the first key is that of the server
		if run("keys", "create", "--name", "soak") {
			run("keys", "revoke", fmt.Sprint(id))
			id++
		}
		select {
		case <-time.After(5 * time.Second):
		case <-ctx.Done():
		}
	}
}
