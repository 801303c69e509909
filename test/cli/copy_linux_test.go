package cli

import (
	"io"
	"strings"
	"testing"

	"example.com/petstore/test/harness"
)

func TestCopyBeginsAnewWhenTheDiskIsNoLongerFull(t *testing.T) {
	t.Parallel()
	dir := harness.SeededStore(t, "40000")
	out := runOnSmallDisk(t, dir, "16m", `head -c 14000000 /dev/zero > filler; "$0" copy --from ../petstore.db --to copy.db; echo "exit $?"; rm filler; "$0" copy --from ../petstore.db --to copy.db && cp copy.db ..`)
	full, rest, _ := strings.Cut(out, "\nexit 1\n")
	if !strings.HasSuffix(full, ": database or disk is full: free some space: the target is an unfinished copy; run the same command again to begin anew") {
		t.Errorf("got the output %q, want that the disk is full", out)
	}
	if !strings.Contains(rest, "\npets: 40000 rows, SHA-256 ") {
		t.Errorf("the second run: got the output %q, want that all was copied", rest)
	}
	harness.WantSameExports(t, dir, "copy.db")
}

func TestCopyDrawsBarsOnATerminal(t *testing.T) {
	t.Parallel()
	dir := harness.SeededStore(t, "3000")
	terminal, screen := harness.OpenTerminal(t)
	cmd := harness.Command(t.Context(), dir, "copy", "--to", "copy.db")
	cmd.Stderr = terminal
	if err := cmd.Run(); err != nil {
		t.Fatal(err)
	}
	_ = terminal.Close()
	text, _ := io.ReadAll(screen) // returns EIO when the terminal is closed
	for _, want := range []string{"rows 100% |█", "rows compared 100% |█"} {
		if !strings.Contains(string(text), want) {
			t.Errorf("got %q, want a bar with %q", text, want)
		}
	}
}
