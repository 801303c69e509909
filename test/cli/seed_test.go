package cli

import (
	"fmt"
	"os"
	"os/exec"
	"slices"
	"strings"
	"syscall"
	"testing"

	"example.com/petstore/test/harness"
)

// inconsistentOrders counts the orders from which the status of their animal does not follow.
const inconsistentOrders = `SELECT count(*) FROM orders o JOIN pets p ON p.id = o.pet_id WHERE p.status IS NOT
	CASE o.status WHEN 'placed' THEN 'pending' WHEN 'delivered' THEN 'sold' ELSE 'available' END`

// TestStoppedSeedHasCommittedWhatItReported expects that the store contains exactly the
// animals that an interrupted seed reported. A killed one may have added up to a tenth more
// since its last report.
func TestStoppedSeedHasCommittedWhatItReported(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		signal     syscall.Signal
		code       int
		lastLine   string
		unreported int
	}{
		"interrupted": {syscall.SIGINT, 1, "petstore: interrupted: added %d of 300000 animals\n", 0},
		"killed":      {syscall.SIGKILL, -1, "%d of 300000 animals\n", 300_000 / 10},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			dir := harness.NewStore(t)
			seed := harness.Command(t.Context(), dir, "seed", "--count", "300000", "--orders", "5")
			lastLine, code := signalCommand(t, seed, test.signal)
			var reported int
			if _, err := fmt.Sscanf(lastLine, test.lastLine, &reported); err != nil || reported == 0 || code != test.code {
				t.Fatalf("got code %d and the last line %q, want %d and %q", code, lastLine, test.code, test.lastLine)
			}
			if added := harness.QueryInt(t, dir, "SELECT count(*) FROM pets"); added < reported || added > reported+test.unreported {
				t.Errorf("got %d animals in the store, want %d to %d", added, reported, reported+test.unreported)
			}
			if orders := harness.QueryInt(t, dir, "SELECT count(*) FROM orders"); orders == 0 {
				t.Error("got no orders")
			}
			if n := harness.QueryInt(t, dir, inconsistentOrders); n != 0 {
				t.Errorf("got %d orders whose animals have another status", n)
			}
		})
	}
}

// signalCommand runs a command, sends it a signal after its first line of progress, and
// returns its last line and its exit code.
func signalCommand(t *testing.T, cmd *exec.Cmd, signal os.Signal) (lastLine string, code int) {
	t.Helper()
	stderr, ended := harness.StartUntil(t, cmd, "there is progress", func(progress string) bool { return strings.Contains(progress, "\n") })
	_ = cmd.Process.Signal(signal)
	<-ended //nolint:errcheck // only the exit code matters
	lines := slices.Collect(strings.Lines(stderr.String()))
	return lines[len(lines)-1], cmd.ProcessState.ExitCode()
}
