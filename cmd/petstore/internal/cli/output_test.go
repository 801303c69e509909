package cli

import (
	"path/filepath"
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

func TestHintsNameTheProgramAsItWasCalled(t *testing.T) {
	t.Parallel()
	var stdout, stderr strings.Builder
	path := filepath.Join(t.TempDir(), "none.db")
	code := Run(t.Context(), Program{
		Name: "bin/petstore", Args: []string{"keys", "list", "--set", "database.dsn=" + path}, Stdout: &stdout, Stderr: &stderr,
	})
	want := "petstore: open the store " + path + ": there is no such file: correct the path, or run bin/petstore migrate up\n"
	if code != 1 || stderr.String() != want {
		t.Errorf("got code %d, stderr %q, want 1 and %q", code, stderr.String(), want)
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
