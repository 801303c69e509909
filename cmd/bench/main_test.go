package main

import (
	"slices"
	"testing"
)

func TestParseReportsBadFlags(t *testing.T) {
	t.Parallel()
	for want, args := range map[string][]string{
		"":                                    {"-against", "p", "-only", "^List/store=sqlite/load=64$", "-rounds", "7"},
		"unexpected argument; use flags only": {"all"},
		"-only ^list matches no row; see docs/benchmarks.md for the names": {"-only", "^list"},
	} {
		got := ""
		if _, err := parse(args); err != nil {
			got = err.Error()
		}
		if got != want {
			t.Errorf("%v: got the error %q, want %q", args, got, want)
		}
	}
}

func TestRowsHaveTheirServers(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		args []string
		rows int
		want []string // the labels of the first row
	}{
		{nil, 24, []string{"gorm", "petstore", "petstore+metrics+log", "gin"}},
		{[]string{"-only", "^Post/"}, 6, []string{"gorm", "petstore"}},
		{[]string{"-against", "old", "-only", "^List/store=sqlite/load=64$"}, 1, []string{"against", "petstore"}},
	} {
		o, err := parse(test.args)
		if err != nil {
			t.Fatal(err)
		}
		rows := o.rows()
		var labels []string
		for _, p := range rows[0].servers {
			labels = append(labels, p.label)
		}
		if len(rows) != test.rows || !slices.Equal(labels, test.want) {
			t.Errorf("%v: %d rows with %v, want %d with %v", test.args, len(rows), labels, test.rows, test.want)
		}
		first, second := rows[0].servers[0], rows[0].servers[1]
		if o.against != "" && (first.petstore != "old" || second.petstore != o.petstore || !slices.Equal(first.settings, second.settings)) {
			t.Errorf("got %+v and %+v, want other programs with the same settings", first, second)
		}
	}
}
