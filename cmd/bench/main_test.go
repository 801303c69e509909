package main

import (
	"io"
	"slices"
	"testing"
)

func TestParseReportsBadFlags(t *testing.T) {
	t.Parallel()
	const nothing = "matches nothing to measure; see docs/benchmarks.md for the names"
	for name, test := range map[string]struct {
		args []string
		want string
	}{
		"none":           {nil, ""},
		"all":            {[]string{"-rounds", "1", "-duration", "2s", "-big", "1000", "-stores", "s", "-only", "^POST", "-petstore", "p", "-docs", "d", "-profile", "p"}, ""},
		"pairs":          {[]string{"-against", "p", "-only", "^list, cached page$", "-rounds", "7"}, ""},
		"no big store":   {[]string{"-big", "0"}, ""},
		"argument":       {[]string{"all"}, "unexpected argument; use flags only"},
		"no round":       {[]string{"-rounds", "0"}, "-rounds must be 1 or more"},
		"broken seconds": {[]string{"-duration", "1500ms"}, "-duration must be whole seconds, as wrk requires"},
		"no second":      {[]string{"-duration", "0s"}, "-duration must be whole seconds, as wrk requires"},
		"too small":      {[]string{"-big", "999"}, "-big must be 0, or 1000 or more"},
		"bad regexp":     {[]string{"-only", "("}, `invalid value "(" for flag -only: error parsing regexp: missing closing ): ` + "`(`"},
		"no such name":   {[]string{"-only", "hot list"}, "-only hot list " + nothing},
		"needs big":      {[]string{"-only", "^by id", "-big", "0"}, "-only ^by id " + nothing},
		"metric in pair": {[]string{"-only", "seed", "-against", "p"}, "-only seed " + nothing},
		"profile pair":   {[]string{"-profile", "f", "-against", "p"}, "-against and -profile exclude each other"},
	} {
		got := ""
		if _, err := parse(test.args, io.Discard); err != nil {
			got = err.Error()
		}
		if got != test.want {
			t.Errorf("%s: got the error %q, want %q", name, got, test.want)
		}
	}
}

func TestOnlySelectsScenariosAndMetrics(t *testing.T) {
	t.Parallel()
	o, err := parse([]string{"-only", "^POST, durable$|seed"}, io.Discard)
	if err != nil {
		t.Fatal(err)
	}
	if s := o.scenarios(); len(s) != 1 || s[0].name != "POST, durable" {
		t.Errorf("%d scenarios: %v", len(s), s)
	}
	if m := o.metrics(); len(m) != 1 || m[0].name != "petstore seed, pets per second" {
		t.Errorf("%d metrics, want petstore seed only", len(m))
	}
}

func TestAgainstComparesTwoProgramsInTheSameScenario(t *testing.T) {
	t.Parallel()
	o, err := parse([]string{"-petstore", "new", "-against", "old"}, io.Discard)
	if err != nil {
		t.Fatal(err)
	}
	for _, s := range o.scenarios() {
		if s.ours.program != "new" || s.other.program != "old" || s.ours.reference+s.other.reference != "" {
			t.Errorf("%s compares %+v with %+v", s.name, s.ours, s.other)
		}
		a, b := s.ours, s.other
		a.name, a.program = b.name, b.program
		if !slices.Equal(a.settings, b.settings) || a.pets != b.pets || a.writes != b.writes || a.request != b.request {
			t.Errorf("%s differs in more than the program: %+v and %+v", s.name, s.ours, s.other)
		}
	}
}
