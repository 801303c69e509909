package cli

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"example.com/petstore/test/harness"

	"github.com/google/go-cmp/cmp"
)

// writeRows writes a file of n animals, whose names are their numbers from 1 on.
func writeRows(t *testing.T, dir, name string, n int) {
	t.Helper()
	var text strings.Builder
	text.WriteString("name,categoryId\n")
	for i := range n {
		fmt.Fprintf(&text, "%d,7\n", i+1)
	}
	harness.WriteFile(t, dir, name, text.String())
}

// wantRows expects the animals of writeRows, each once and in their order.
func wantRows(t *testing.T, dir string, n int) {
	t.Helper()
	total := harness.QueryInt(t, dir, "SELECT count(*) FROM pets")
	ordered := harness.QueryInt(t, dir, "SELECT count(*) FROM (SELECT name, row_number() OVER (ORDER BY id) AS n FROM pets) WHERE name = CAST(n AS TEXT)")
	if total != n || ordered != n {
		t.Errorf("got %d animals, %d of them in their order, want %d", total, ordered, n)
	}
}

// withoutIDs returns an export in CSV without the ids.
func withoutIDs(t *testing.T, dir string) string {
	t.Helper()
	var text strings.Builder
	for line := range strings.Lines(harness.MustRun(t, dir, "export", "--format", "csv")) {
		_, rest, _ := strings.Cut(line, ",")
		text.WriteString(rest)
	}
	return text.String()
}

func TestImportedAnimalsAreThoseThatWereExported(t *testing.T) {
	t.Parallel()
	from := harness.SeededStore(t, "2500")
	want := withoutIDs(t, from)
	for args, begin := range map[string]string{"pets.csv": "id,", "pets.ndjson": "{", "other.csv --format ndjson": "{"} {
		args := strings.Fields(args)
		name, format := filepath.Join(from, args[0]), args[1:]
		harness.MustRun(t, from, append([]string{"export", name}, format...)...)
		if text := harness.ReadFile(t, name); !strings.HasPrefix(text, begin) {
			t.Errorf("%v: got %.60q, want that it begins with %q", args, text, begin)
		}
		to := harness.NewStore(t)
		stdout, stderr, code := harness.Run(t, to, append([]string{"import", name}, format...)...)
		if code != 0 || !strings.HasPrefix(stdout, "added 2500 animals in ") || !strings.HasSuffix(stderr, "\n2500 of 2500 animals\n") {
			t.Fatalf("%s: got code %d, stdout %q, stderr %q", name, code, stdout, stderr)
		}
		if diff := cmp.Diff(want, withoutIDs(t, to)); diff != "" {
			t.Errorf("%s (-exported +imported)\n%s", name, diff)
		}
	}
}

func TestFileThatIsImportedTwiceAddsNothing(t *testing.T) {
	t.Parallel()
	const none, again = "added 0 animals: this file with 2500 animals was imported before; --again adds them once more\n", "; each run with --again adds them once more\n"
	dir := harness.NewStore(t)
	writeRows(t, dir, "pets.csv", 2500)
	writeRows(t, dir, "copy", 2500)
	for _, test := range []struct {
		args, begin, end string
		animals          int
	}{
		{"pets.csv --rejects rejects.ndjson", "added 2500 animals in ", "s\n", 2500},
		{"pets.csv", none, none, 2500},
		{"copy --format csv", none, none, 2500},
		{"pets.csv --again", "added 2500 animals in ", again, 5000},
		{"pets.csv --again", "added 2500 animals in ", again, 7500},
		{"pets.csv", none, none, 7500},
	} {
		harness.WantOutput(t, dir, "import "+test.args, test.begin, test.end)
		if got := harness.QueryInt(t, dir, "SELECT count(*) FROM pets"); got != test.animals {
			t.Errorf("%s: got %d animals, want %d", test.args, got, test.animals)
		}
	}
	if found := modes(t, dir); len(found) != 3 {
		t.Errorf("got the files %v, want none without rejected rows", found)
	}
}

func TestImportReportsOtherIDs(t *testing.T) {
	t.Parallel()
	dir := harness.NewStore(t)
	harness.WriteFile(t, dir, "pets.csv", "id,name,categoryId\n1,a,7\n,b,7\n7,c,7\n3,d,7\n")
	harness.WantOutput(t, dir, "import pets.csv", "added 4 animals in ", "; 2 have another id than in the file\n")
	if ids := harness.QueryInt(t, dir, "SELECT max(id) FROM pets"); ids != 4 {
		t.Errorf("got the id %d, want 4", ids)
	}
}

func TestImportStoresNothingOfAFileWithABadRow(t *testing.T) {
	t.Parallel()
	rows := "name,categoryId\n" + strings.Repeat("Rex,7\n", 5000)
	for name, test := range map[string]struct{ args, text, want string }{
		"rule":       {"pets.csv", rows + "Tom,8.5\n", "pets.csv: line 5002: categoryId must be a 64-bit integer without fraction or exponent; correct the row, or add --rejects FILE to import the others: this run stored nothing"},
		"open quote": {"pets.csv", rows + "\"Tom,8\nBob,9\n", "pets.csv: line 5002: a quote that is opened in this row is not closed: close it; if it belongs to the value, quote the field, and write \"\" for the quote: this run stored nothing"},
		// Such a row could not be written as it is, because JSON is UTF-8.
		"not UTF-8, --rejects": {"pets.csv --rejects rejects.ndjson", rows + "R\xe4x,7\n", "pets.csv: line 5002: the text is not valid UTF-8: convert the file to UTF-8: this run stored nothing"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			dir := harness.NewStore(t)
			args := strings.Fields(test.args)
			harness.WriteFile(t, dir, args[0], test.text)
			before := modes(t, dir)
			stdout, stderr, code := harness.Run(t, dir, append([]string{"import"}, args...)...)
			wantModes(t, dir, before)
			if code != 1 || stdout != "" || !strings.HasSuffix("\n"+stderr, "\npetstore: "+test.want+"\n") {
				t.Errorf("got code %d, stdout %q, stderr %q; want 1 and %q", code, stdout, stderr, test.want)
			}
			if n := harness.QueryInt(t, dir, "SELECT (SELECT count(*) FROM pets) + (SELECT count(*) FROM imports)"); n != 0 {
				t.Errorf("got %d animals and imports, want none", n)
			}
		})
	}
}

func TestImportListsTheFirstBadRows(t *testing.T) {
	t.Parallel()
	const categoryRule = "categoryId must be a 64-bit integer without fraction or exponent"
	for bad, want := range map[int]string{
		2:    "2 rows violate a rule:\nline 3: " + categoryRule + "\nline 4: " + categoryRule,
		20:   "20 rows violate a rule:\nline 3: ",
		3000: "3000 rows violate a rule, the first 20 are:\nline 3: ",
	} {
		dir := harness.NewStore(t)
		harness.WriteFile(t, dir, "pets.csv", "name,categoryId\nRex,7\n"+strings.Repeat("Tom,x\n", bad)+"Bob,9\n")
		stdout, stderr, code := harness.Run(t, dir, "import", "pets.csv")
		_, text, _ := strings.Cut(stderr, "petstore: pets.csv: ")
		if code != 1 || stdout != "" || !strings.HasPrefix(text, want) ||
			!strings.HasSuffix(text, "\ncorrect them, or add --rejects FILE to import the others: this run stored nothing\n") {
			t.Errorf("%d bad rows: got code %d, stdout %q, stderr %q; want 1 and %q", bad, code, stdout, stderr, want)
		}
		if n := strings.Count(text, "\nline "); n != min(bad, 20) {
			t.Errorf("%d bad rows: got %d of them", bad, n)
		}
		writeRows(t, dir, "pets.csv", 2) // which is correct
		harness.WantOutput(t, dir, "import pets.csv", "added 2 animals in ", "")
		wantRows(t, dir, 2)
	}
}

func TestDryRunOnlyChecks(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	harness.WriteFile(t, dir, "bad.csv", "name,categoryId\nRex,x\nTom,8\n")
	writeRows(t, dir, "good.csv", 3)
	harness.WantOutput(t, dir, "import --dry-run good.csv", "checked 3 animals, and stored nothing\n", "")
	if _, stderr, code := harness.Run(t, dir, "import", "--dry-run", "bad.csv"); code != 1 || !strings.HasSuffix(stderr, ": this run stored nothing\n") {
		t.Errorf("got code %d, stderr %q; want 1 and that nothing was stored", code, stderr)
	}
	harness.WantOutput(t, dir, "import --dry-run bad.csv --again --rejects rejects.ndjson", "checked 1 animals, and stored nothing; wrote 1 rejected rows to rejects.ndjson\n", "")
	if got := modes(t, dir); len(got) != 3 || !strings.Contains(harness.ReadFile(t, filepath.Join(dir, "rejects.ndjson")), `"row":"Rex,x"`) {
		t.Errorf("got the files %v, want no store", got)
	}
}

func TestRejectedRowsAreWrittenToAFile(t *testing.T) {
	t.Parallel()
	dir := harness.NewStore(t)
	harness.WriteFile(t, dir, "pets.csv", "name,categoryId\nRex,7\n\" <b>\"\"\",x\n\"a\r\nb\",7\n\"Tim,7\n\"Tom\",7\nTom,8\n")
	harness.WantOutput(t, dir, "import pets.csv --rejects rejects.ndjson", "added 2 animals in ", "; wrote 3 rejected rows to rejects.ndjson\n")
	want := `{"line":3,"rule":"categoryId must be a 64-bit integer without fraction or exponent","row":"\" <b>\"\"\",x"}
{"line":4,"rule":"name must be 1 to 200 characters, not blank, without control characters or noncharacters such as U+FFFF (the row ends in line 5)","row":"\"a\r\nb\",7"}
{"line":6,"rule":"text follows a closing quote: write \"\" for a quote within a quoted field (the row ends in line 7: a quote may not be closed)","row":"\"Tim,7\n\"Tom\",7"}
`
	harness.WantError(t, dir, "import pets.csv --rejects rejects.ndjson --again", "rejects.ndjson exists already: name another file, or move it away")
	harness.WantOutput(t, dir, "import pets.csv --rejects other.ndjson", "added 0 animals: ", "")
	for _, name := range []string{"rejects.ndjson", "other.ndjson"} {
		if diff := cmp.Diff(want, harness.ReadFile(t, filepath.Join(dir, name))); diff != "" {
			t.Errorf("%s (-want +got)\n%s", name, diff)
		}
	}
	_, stderr, code := harness.Run(t, dir, "import", "pets.csv")
	if code != 1 || !strings.HasSuffix(stderr, "\ncorrect them, or add --rejects FILE to import the others: this run stored nothing; an earlier run stored 2 animals of this file\n") {
		t.Errorf("without --rejects: got code %d, stderr %q; want 1 and what was stored", code, stderr)
	}
	if n := harness.QueryInt(t, dir, "SELECT count(*) FROM pets"); n != 2 {
		t.Errorf("got %d animals, want 2", n)
	}
}

func TestFileWithoutValidRowsAddsNothingTwice(t *testing.T) {
	t.Parallel()
	dir := harness.NewStore(t)
	harness.WriteFile(t, dir, "pets.csv", "name,categoryId\nRex,x\n")
	harness.WriteFile(t, dir, "empty.ndjson", "")
	for args, want := range map[string]string{
		"pets.csv --rejects 1.ndjson": "; wrote 1 rejected rows to 1.ndjson\n", "pets.csv --rejects 2.ndjson": "; wrote 1 rejected rows to 2.ndjson\n", "empty.ndjson": "\n",
	} {
		harness.WantOutput(t, dir, "import "+args, "added 0 animals in ", want)
	}
}

func TestFileOfRejectsIsRecognized(t *testing.T) {
	t.Parallel()
	dir := harness.NewStore(t)
	harness.WriteFile(t, dir, "pets.csv", "name,categoryId\nRex,x\nTom,8\n")
	for _, args := range []string{"pets.csv --rejects rejects.ndjson", "rejects.ndjson", "rejects.ndjson --rejects other.ndjson"} {
		_, stderr, code := harness.Run(t, dir, append([]string{"import"}, strings.Fields(args)...)...)
		want := "petstore: rejects.ndjson: line 1: this row was written by --rejects: correct the member row of each line, and import these rows alone: this run stored nothing\n"
		if ok := code == 1 && strings.HasSuffix(stderr, want); ok == strings.HasPrefix(args, "pets.csv") {
			t.Errorf("%s: got code %d, stderr %q", args, code, stderr)
		}
	}
}

// The file of the rejects is created by another process while the import runs.
func TestRejectsAreWrittenByAnotherRun(t *testing.T) {
	t.Parallel()
	for args, hint := range map[string]string{"": "run the same command again", "--again": "run the command again without --again"} {
		dir := harness.NewStore(t)
		harness.WriteFile(t, dir, "pets.csv", "name,categoryId\nRex,x\nTom,8\n")
		stderr, code := runBlocked(t, dir, "import pets.csv --rejects rejects.ndjson "+args, "rejects.ndjson.partial", func(*os.Process) {
			harness.WriteFile(t, dir, "rejects.ndjson", "other")
		})
		want := "rejects.ndjson exists already: name another file, or move it away: the import is complete, but rejects.ndjson was not written; " + hint + " to write it\n"
		if code != 1 || !strings.HasSuffix(stderr, want) {
			t.Errorf("%q: got code %d, stderr %q; want 1 and %q", args, code, stderr, want)
		}
		if n := harness.QueryInt(t, dir, "SELECT count(*) FROM pets"); n != 1 {
			t.Errorf("%q: got %d animals, want 1", args, n)
		}
	}
}
