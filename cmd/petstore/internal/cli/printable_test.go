package cli

import "testing"

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
