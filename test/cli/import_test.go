package cli

import (
	"fmt"
	"os"
	"strings"
	"testing"

	"example.com/petstore/test/harness"
)

// writeRows writes a file of n animals, whose names are their numbers from 1 on.
func writeRows(t testing.TB, dir, name string, n int) {
	t.Helper()
	var text strings.Builder
	text.WriteString("name,categoryId\n")
	for i := range n {
		fmt.Fprintf(&text, "%d,7\n", i+1)
	}
	harness.WriteFile(t, dir, name, text.String())
}

// wantRows expects the animals of writeRows, each once and in their order.
func wantRows(t testing.TB, dir string, n int) {
	t.Helper()
	total := harness.QueryInt(t, dir, "SELECT count(*) FROM pets")
	ordered := harness.QueryInt(t, dir, "SELECT count(*) FROM (SELECT name, row_number() OVER (ORDER BY id) AS n FROM pets) WHERE name = CAST(n AS TEXT)")
	if total != n || ordered != n {
		t.Errorf("got %d animals, %d of them in their order, want %d", total, ordered, n)
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
