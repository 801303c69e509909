package faults

import (
	"context"
	"flag"
	"fmt"
	"os"
	"strings"
	"sync"
	"testing"
	"time"

	"gonum.org/v1/plot"
	"gonum.org/v1/plot/plotter"
	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"
	"gonum.org/v1/plot/vg/vgsvg"

	"example.com/petstore/internal/test/testkit"
	"example.com/petstore/test/harness"
)

var (
	soak     = flag.Duration("soak", 0, "how long the soak takes, 10 minutes for the figures of docs/reliability.md")
	soakPlot = flag.String("soakplot", "", "the SVG file to draw the soak to")
)

const latency = "99th percentile of a write in ms"

// TestSoakIsFlat runs a mixed load beside commands that create and revoke API keys. It expects that the
// resources of the server do not grow, and that hardly any request or command fails. With the race
// detector, it expects no data race.
func TestSoakIsFlat(t *testing.T) {
	const samples, writers = 60, 8
	length := max(*soak, pick(5*time.Second, 30*time.Second))
	l := newLoad(t)
	s := start(t, t.TempDir(), "")
	var wait sync.WaitGroup
	defer wait.Wait()
	ctx, cancel := context.WithTimeout(t.Context(), length)
	defer cancel()
	l.to(s).Pause = 10 * time.Millisecond // otherwise the history gets too long
	stopWriting, stopReading := l.Start(t.Context(), writers), l.startReading(t, 4, 100*time.Millisecond)
	var commands, failed int
	wait.Go(func() {
		run := func(args ...string) error {
			commands++
			output, err := harness.Command(t.Context(), s.folder, args...).CombinedOutput()
			if err != nil {
				failed++
				t.Logf("%v: %v %s", args, err, output)
			}
			return err
		}
		for id := 2; ctx.Err() == nil; time.Sleep(time.Second) { // the server itself has the first key
			if run("keys", "create", "--name", "soak") == nil {
				_ = run("keys", "revoke", fmt.Sprint(id))
				id++
			}
		}
	})
	measured := map[string][]float64{}
	for ctx.Err() == nil {
		begun := time.Now()
		time.Sleep(length / samples)
		for name, value := range s.resources(t) {
			measured[name] = append(measured[name], value)
		}
		measured[latency] = append(measured[latency], float64(l.History.Since(begun).Acknowledged(false).P99().Microseconds())/1000)
	}
	wait.Wait()
	stopReading()
	stopWriting()
	s.stop(t, l)
	if log := s.Log.String(); strings.Contains(log, "DATA RACE") {
		t.Errorf("the race detector has found something: %s", log)
	}
	c := l.History.Since(time.Time{}).Counts()
	// On a busy machine, the process that has the lock of the store may not run for a while. Then all
	// requests at that moment may fail.
	if all := c.Acknowledged + c.Refused + c.Unknown; c.Unavailable > max(all/100, 2*writers) || failed > max(commands/100, 1) {
		t.Errorf("%d of %d requests and %d of %d commands failed, want 1 %% at most", c.Unavailable, all, failed, commands)
	}
	for name, values := range measured {
		wantFlat(t, name, values)
	}
	if *soakPlot != "" {
		save(t, *soakPlot, length, measured)
	}
	t.Logf("%v; %v; %d of %d commands failed", length, c, failed, commands)
}

// wantFlat expects that the median of the last quarter is at most 1.25 times the median of the second
// quarter, plus one. A latency depends on what else the machine does, so it may be twice as high, plus 100
// ms. What becomes flat only after minutes is checked only with -soak.
func wantFlat(t *testing.T, name string, values []float64) {
	t.Helper()
	n := len(values)
	before, after := median(values[n/4:n/2]), median(values[3*n/4:])
	t.Logf("%s: %.1f, then %.1f", name, before, after)
	limit := 1.25*before + 1
	if name == latency {
		limit = 2*before + 100
	}
	flatAfterMinutes := name != goroutines && name != descriptors
	// The race detector keeps 8 bytes for each defer (go.dev/doc/articles/race_detector) and slows down
	// everything.
	changedByRaceDetector := name == memory || name == latency
	if after > limit && (*soak > 0 || !flatAfterMinutes) && (!harness.Race() || !changedByRaceDetector) {
		t.Errorf("%s grew from %.1f to %.1f", name, before, after)
	}
}

// save draws the measured values, one chart below the other, from 0 to the maximum, to an SVG file.
func save(t *testing.T, path string, length time.Duration, measured map[string][]float64) {
	t.Helper()
	names := []string{memory, heap, goroutines, descriptors, wal, latency}
	image := vgsvg.New(600, 120*vg.Length(len(names)))
	tiles := draw.Tiles{Rows: len(names), Cols: 1}
	for row, name := range names {
		points := make(plotter.XYs, len(measured[name]))
		for i, value := range measured[name] {
			points[i] = plotter.XY{X: length.Minutes() * float64(i+1) / float64(len(points)), Y: value}
		}
		line, err := plotter.NewLine(points)
		testkit.Check(t, err)
		chart := plot.New()
		chart.Title.Text, chart.Y.Min = name, 0
		chart.Add(line)
		chart.Draw(tiles.At(draw.New(image), 0, row))
	}
	file, err := os.Create(path)
	testkit.Check(t, err)
	defer file.Close()
	_, err = image.WriteTo(file)
	testkit.Check(t, err)
}
