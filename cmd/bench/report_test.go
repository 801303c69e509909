package main

import (
	"flag"
	"io/fs"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"
)

var update = flag.Bool("update", false, "rewrite the files of testdata")

func TestReport(t *testing.T) {
	t.Parallel()
	samples := func(cpu time.Duration, rates ...float64) []sample {
		var all []sample
		for i, rate := range rates {
			all = append(all, sample{rate: rate, cpu: cpu, p99: time.Duration(i+1) * 100 * cpu})
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
		postgres: &postgresInfo{
			version: "15.1", settings: "fsync=on, max_connections=200", roundTrip: 50 * time.Microsecond, delayed: 720 * time.Microsecond,
		},
	}
	results := map[group][2][]sample{
		toGin:    {samples(16*time.Microsecond, 60_000, 63_000, 57_000), samples(15*time.Microsecond, 64_000, 66_000, 65_000)},
		toGORM:   {samples(35*time.Microsecond, 28_000, 27_000, 29_000), samples(120*time.Microsecond, 3_400, 3_000, 3_600)},
		toItself: {samples(20*time.Microsecond, 31_000, 30_000, 36_500), samples(60*time.Microsecond, 12_400, 12_000, 12_500)},
		toSQLite: {samples(35*time.Microsecond, 14_000, 14_500, 13_000), samples(35*time.Microsecond, 28_000, 27_000, 29_000)},
		toOne:    {samples(35*time.Microsecond, 14_000, 14_500, 13_000), samples(35*time.Microsecond, 14_000, 14_100, 14_200)},
	}
	for _, s := range scenarios(0) {
		c := comparison{s, slices.Clone(results[s.group][0]), results[s.group][1]}
		if s.ours.postgres {
			for i := range c.samples {
				c.samples[i].postgresCPU, c.samples[i].batch, c.samples[i].perQuery = 2*time.Microsecond, 60, 31.5
			}
		}
		r.comparisons = append(r.comparisons, c)
	}
	for i, m := range metrics(10_000_000) {
		r.measurements = append(r.measurements, measurement{m, [][]float64{{72_000, 71_000, 70_000}, {61, 60, 62.4}, {110, 90, 101}}[i]})
	}

	folder := t.TempDir()
	if err := r.write(folder); err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"benchmarks.md", "benchmarks.svg", "scaling.md"} {
		wantGolden(t, name, golden(t, filepath.Join(folder, name)))
	}
}

func TestMet(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		value          float64
		smaller        bool
		required, goal float64
		want           string
	}{
		{0.97, false, 0.90, 0.97, "goal"},
		{0.969, false, 0.90, 0.97, "yes"},
		{0.899, false, 0.90, 0.97, "**no**"},
		{0.9, false, 0.9, 0, "yes"},
		{60, true, 96, 64, "goal"},
		{70, true, 96, 64, "yes"},
		{97, true, 96, 64, "**no**"},
		{1.1, false, 0, 0, ""},
	} {
		if got := met(test.value, test.smaller, test.required, test.goal); got != test.want {
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

func TestScenariosAreComplete(t *testing.T) {
	t.Parallel()
	names := map[string]bool{}
	for _, s := range scenarios(10_000_000) {
		if names[s.name] {
			t.Errorf("two scenarios are named %q", s.name)
		}
		names[s.name] = true
		for _, server := range []server{s.ours, s.other} {
			script, _ := server.request.script()
			if server.name == "" || (server.request.path == "") == (server.request.posts == 0) {
				t.Errorf("%s: the server %q receives %+v", s.name, server.name, server.request)
			}
			if _, err := fs.Stat(scripts, path.Join("lua", script)); err != nil {
				t.Errorf("%s: %v", s.name, err)
			}
			if s.halfRate && server.request.keys {
				t.Errorf("%s: the client with a constant rate sends no keys", s.name)
			}
			if server.writes != (server.request.posts > 0) {
				t.Errorf("%s: the server %q writes: %v", s.name, server.name, server.writes)
			}
		}
		if s.other.reference == "gin" && s.ours.reference == "" && s.bodyPath == "" {
			t.Errorf("%s: bare Gin has no body to send", s.name)
		}
	}
	for _, s := range scenarios(0) {
		if strings.Contains(s.name, "10,000,000") {
			t.Errorf("%s needs the big store", s.name)
		}
	}
}
