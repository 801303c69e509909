package main

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

func TestErrorsAndListsHaveNoControlCharacters(t *testing.T) {
	t.Parallel()
	dir := dirWithStore(t)
	_, err := openSQLite(t, storePath(dir)).ExecContext(t.Context(), "INSERT INTO api_keys (hash, name, last_four, created_at) VALUES (zeroblob(32), ?, 'abcd', 0)", "till\u202e1")
	if err != nil { // earlier versions accepted such a name
		t.Fatal(err)
	}
	if list := runOK(t, dir, "keys", "list"); !strings.Contains(list, `till\u202e1 `) {
		t.Errorf("got the list %q, want the name escaped", list)
	}
	for args, want := range map[string]string{
		"import \x1b[31m.csv": `petstore: there is no file \x1b[31m.csv: correct the path`,
		"restore \u202eb.db":  `petstore: there is no backup \u202eb.db: correct the path`,
		"backup \x1b/b.db":    `petstore: there is no folder \x1b: create it`,
	} {
		if _, stderr, code := runPetstore(t, dir, strings.Fields(args)...); code != 1 || stderr != want+"\n" {
			t.Errorf("%q: got code %d, stderr %q, want 1 and %q", args, code, stderr, want)
		}
	}
}
