package cli

import (
	"io"
	"strings"
	"testing"

	"example.com/petstore/test/harness"
)

func TestSeedDrawsABarOnATerminal(t *testing.T) {
	t.Parallel()
	terminal, screen := harness.OpenTerminal(t)
	cmd := harness.Command(t.Context(), t.TempDir(), "seed", "--count", "3000")
	cmd.Stderr = terminal
	if err := cmd.Run(); err != nil {
		t.Fatal(err)
	}
	_ = terminal.Close()
	shown, _ := io.ReadAll(screen) // returns EIO when the terminal is closed
	if !strings.Contains(string(shown), "animals 100% |█") || strings.Contains(string(shown), "3000 of 3000") {
		t.Errorf("got %q, want a bar at 100%% and no lines", shown)
	}
}
