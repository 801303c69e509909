package main

import (
	"flag"
	"io/fs"
	"path"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

var update = flag.Bool("update", false, "write the files of testdata anew")

func TestReport(t *testing.T) {
	t.Parallel()
	samples := func(cpu time.Duration, rates ...float64) []sample {
		var all []sample
		for i, rate := range rates {
			all = append(all, sample{rate: rate, cpu: cpu, p99: time.Duration(i+1) * 1500 * time.Microsecond})
		}
		return all
	}
	r := report{
		machine: machine{
			cpu: "Some Processor", cores: 2, kernel: "6.1.0", load: "0.05",
			versions: []version{{"Go", "1.26.0"}, {"Gin", "1.12.0"}},
			fsync:    90 * time.Microsecond, fsyncP99: 210 * time.Microsecond,
		},
		rounds: 3, duration: 10 * time.Second, date: time.Date(2026, time.November, 20, 12, 0, 0, 0, time.UTC),
	}
	for _, w := range works(0) {
		switch w.group {
		case toGin:
			r.comparisons = append(r.comparisons, comparison{w, samples(16*time.Microsecond, 60_000, 63_000, 57_000), samples(15*time.Microsecond, 64_000, 66_000, 65_000)})
		case toGORM:
			r.comparisons = append(r.comparisons, comparison{w, samples(35*time.Microsecond, 28_000, 27_000, 29_000), samples(120*time.Microsecond, 3_400, 3_000, 3_600)})
		case toItself:
			r.comparisons = append(r.comparisons, comparison{w, samples(20*time.Microsecond, 31_000, 30_000, 36_500), samples(60*time.Microsecond, 12_400, 12_000, 12_500)})
		}
	}
	for i, g := range gauges(10_000_000) {
		r.readings = append(r.readings, reading{g, [][]float64{{72_000, 71_000, 70_000}, {61, 60, 62.4}, {110, 90, 101}}[i]})
	}

	folder := t.TempDir()
	if err := r.write(folder); err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"benchmarks.md", "benchmarks.svg"} {
		wantGolden(t, name, golden(t, filepath.Join(folder, name)))
	}
}

func TestTargetIsReached(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		value        float64
		smaller      bool
		atLeast, aim float64
		want         string
	}{
		{0.97, false, 0.90, 0.97, "aim"},
		{0.969, false, 0.90, 0.97, "yes"},
		{0.899, false, 0.90, 0.97, "**no**"},
		{0.9, false, 0.9, 0, "yes"},
		{60, true, 96, 64, "aim"},
		{70, true, 96, 64, "yes"},
		{97, true, 96, 64, "**no**"},
		{1.1, false, 0, 0, ""},
	} {
		if got := reached(test.value, test.smaller, test.atLeast, test.aim); got != test.want {
			t.Errorf("%v: got %q, want %q", test, got, test.want)
		}
	}
}

func TestMedian(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		values []float64
		want   float64
	}{{[]float64{3}, 3}, {[]float64{9, 1, 2}, 2}, {[]float64{4, 1, 2, 9}, 3}} {
		if got := median(test.values); got != test.want {
			t.Errorf("%v: got %v, want %v", test.values, got, test.want)
		}
	}
}

func TestWorksCanBeDone(t *testing.T) {
	t.Parallel()
	names := map[string]bool{}
	for _, w := range works(10_000_000) {
		if names[w.name] {
			t.Errorf("two works are named %q", w.name)
		}
		names[w.name] = true
		for _, s := range []side{w.ours, w.other} {
			if s.name == "" || (s.ask.path == "") == (s.ask.script == "") {
				t.Errorf("%s: the side %q asks %+v", w.name, s.name, s.ask)
			}
			if _, err := fs.Stat(scripts, path.Join("lua", s.ask.script)); err != nil {
				t.Errorf("%s: %v", w.name, err)
			}
		}
		if w.other.reference == "gin" && w.ours.reference == "" && w.same == "" {
			t.Errorf("%s: bare Gin has nothing to answer", w.name)
		}
	}
	for _, w := range works(0) {
		if strings.Contains(w.name, "10,000,000") {
			t.Errorf("%s needs the big store", w.name)
		}
	}
}
