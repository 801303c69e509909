package cli

import (
	"strings"
	"testing"
)

func TestPrintableEscapesWhatChangesATerminal(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		"":                               "",
		"no folder: create it\n  second": "no folder: create it\n  second",
		"Zoë's \"犬🐶\" \\x1b\u00a0\u200d.db": "Zoë's \"犬🐶\" \\x1b\u00a0\u200d.db",
		"a\x1b[31m\r\t\x00\x7f\u0085":       `a\x1b[31m\r\t\x00\x7f\u0085`,
		"\u061c\u200e\u200f\u202a\u202e":    `\u061c\u200e\u200f\u202a\u202e`,
		"\u2066\u2069 \x9b\xff \ufffd":      `\u2066\u2069 \x9b\xff ` + "\ufffd",
	} {
		if got := printable(text); got != want {
			t.Errorf("%q: got %q, want %q", text, got, want)
		}
	}
}

func TestNumberOfOneIsSingular(t *testing.T) {
	t.Parallel()
	if got := counted(0, "order") + ", " + counted(1, "order") + ", " + counted(2, "API key"); got != "0 orders, 1 order, 2 API keys" {
		t.Errorf("got %q", got)
	}
}

func TestHintsNameTheProgramAndTheStoreAsTheyWereCalled(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		in   invocation
		want string
	}{
		{invocation{}, "run bin/petstore migrate up"},
		{
			invocation{configFile: "shop.yaml", assignments: []string{"log.level=debug", "database.dsn=a.db", "database.dsn=b.db"}},
			"run bin/petstore --config shop.yaml --set database.dsn=b.db migrate up",
		},
		{
			invocation{assignments: []string{"database.dsn=postgres://u:secret@h/d", "auth.bootstrap_key=secret"}},
			"run bin/petstore --set database.dsn=… migrate up",
		},
	} {
		test.in.Name = "bin/petstore"
		if got := test.in.message("run petstore migrate up"); got != test.want {
			t.Errorf("got %q, want %q", got, test.want)
		}
	}
}

func TestProgressMayExceedTheTotal(t *testing.T) {
	t.Parallel()
	for total, want := range map[int]string{
		0: "3 of 3 animals\n",
		2: "3 of 3 animals\n",
		4: "3 of 4 animals\n6 of 6 animals\n",
	} {
		var out strings.Builder
		progress := newProgress(&out, "animals", total)
		for _, n := range []int{0, 3, 3} {
			progress.add(n)
		}
		if out.String() != want {
			t.Errorf("of %d: got %q, want %q", total, out.String(), want)
		}
	}
}
