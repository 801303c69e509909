//go:build faults

package faults

import (
	"context"
	"flag"
	"fmt"
	"net/http"
	"os"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"
)

var (
	soak     = flag.Duration("soak", 0, "how long the soak takes, 30 minutes for docs/reliability.md")
	soakPlot = flag.String("soakplot", "", "the SVG file to draw the soak to")
)

// TestSoakIsFlat runs mixed load and expects that what the server uses does not grow. Build
// petstore with the race detector (-racedetector) for the 30 minutes.
func TestSoakIsFlat(t *testing.T) {
	const samples = 60
	length := max(*soak, pick(5*time.Second, 30*time.Second))
	folder, l := t.TempDir(), newLedger()
	s := start(t, folder, "")
	ctx, cancel := context.WithTimeout(t.Context(), length)
	defer cancel()
	var wait sync.WaitGroup
	var window atomic.Pointer[latencies]
	window.Store(&latencies{})
	c := newClients(l, s, 8)
	var unavailable, failedCommands atomic.Int64 // as on a machine that does much else
	c.failed = func(status int, body string) {
		if unavailable.Add(1); status != http.StatusServiceUnavailable {
			t.Errorf("got %d %s, want 503", status, body)
		}
	}
	c.latency = func(d time.Duration) { window.Load().add(d) }
	wait.Go(func() { c.run(ctx, 8, "soak") })
	wait.Go(func() { s.read(ctx, 4) })
	wait.Go(func() { changeKeys(ctx, t, folder, &failedCommands) })
	plot := newPlot("resident memory in MiB", "heap of Go in MiB", "goroutines", "descriptors", "WAL in MiB", "99th percentile of a write in ms")
	for ctx.Err() == nil {
		select {
		case <-time.After(length / samples):
		case <-ctx.Done():
		}
		r, p99 := s.resources(t, folder), window.Swap(&latencies{}).p99()
		plot.add(r.memory, r.heap, r.goroutines, r.descriptors, r.wal, float64(p99.Microseconds())/1000)
	}
	wait.Wait()
	s.stop(t)
	if log := s.log.String(); strings.Contains(log, "DATA RACE") {
		t.Errorf("the race detector has found something: %s", log)
	}
	l.wantStore(t, folder)
	if *raceDetector {
		plot.names, plot.values = plot.names[1:], plot.values[1:] // it keeps 8 bytes for each defer (go.dev/doc/articles/race_detector)
	}
	if *soak > 0 {
		plot.wantFlat(t)
	}
	if *soakPlot != "" {
		check(t, os.WriteFile(*soakPlot, []byte(plot.svg(length)), 0o644))
	}
	figures.add(t, "%v; %v; %v, %d of them with 503; %d commands failed; lost 0, doubled 0", length, plot, l, unavailable.Load(), failedCommands.Load())
}

// changeKeys creates and revokes API keys until ctx ends, and counts the commands that failed.
func changeKeys(ctx context.Context, t *testing.T, folder string, failed *atomic.Int64) {
	for id := 2; ctx.Err() == nil; id++ {
		for _, args := range [][]string{{"keys", "create", "--name", "soak"}, {"keys", "revoke", fmt.Sprint(id)}} {
			if output, err := petstore(t, folder, nil, args...).CombinedOutput(); err != nil {
				failed.Add(1)
				t.Logf("%v: %v %s", args, err, output)
			}
		}
		select {
		case <-time.After(5 * time.Second):
		case <-ctx.Done():
		}
	}
}
