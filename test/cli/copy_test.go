package cli

import (
	"strings"
	"syscall"
	"testing"

	"example.com/petstore/test/harness"
)

func TestInterruptedCopySaysHowToBeginAnew(t *testing.T) {
	t.Parallel()
	dir := harness.SeededStore(t, "40000")
	cmd, stderr, ended := harness.StartCopy(t, dir, 1, "--to", "copy.db")
	_ = cmd.Process.Signal(syscall.SIGINT)
	if err := <-ended; err == nil {
		t.Fatal("the copy had ended, want it interrupted")
	}
	const outcome = "\npetstore: interrupted: the target is an unfinished copy; run the same command again to begin anew\n"
	if code := cmd.ProcessState.ExitCode(); code != 1 || !strings.HasSuffix(stderr.String(), outcome) {
		t.Fatalf("got code %d, stderr %q; want 1 and %q", code, stderr, outcome)
	}
	harness.WantError(t, dir, "keys list --set database.dsn=copy.db",
		"open the store copy.db: it is an unfinished copy of "+harness.StorePath(dir)+": run the same petstore copy again, which begins anew, or use another store")
	stdout, _, code := harness.Run(t, dir, "copy", "--to", "copy.db")
	if code != 0 || !strings.Contains(stdout, "\npets: 40000 rows, SHA-256 ") {
		t.Errorf("got code %d, stdout %q; want 0 and all rows", code, stdout)
	}
	harness.WantSameExports(t, dir, "copy.db")
}

func TestCopyOfServedStoreNeedsSnapshot(t *testing.T) {
	t.Parallel()
	dir, other := harness.SeededStore(t, "10"), harness.NewStore(t)
	harness.Start(t, dir)
	const inUse = ": a process has it open: stop the service and all petstore commands, then try again"
	harness.WantError(t, dir, "copy --to copy.db", "open the source "+harness.StorePath(dir)+inUse+
		", or add --snapshot to copy it as it is now, without later changes: nothing was copied")
	if found := modes(t, dir); found["copy.db"] != 0 {
		t.Error("copy.db was created")
	}
	harness.WantError(t, dir, "copy --snapshot --from "+harness.StorePath(other), "open the target "+harness.StorePath(dir)+inUse+": nothing was copied")
	harness.MustRun(t, dir, "copy", "--to", "copy.db", "--snapshot")
	harness.WantSameExports(t, dir, "copy.db")
}

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
