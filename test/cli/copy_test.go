package cli

import (
	"fmt"
	"net/http"
	"path/filepath"
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
	stderrOf := func(args ...string) string {
		_, stderr, code := harness.Run(t, dir, args...)
		if code != 1 {
			t.Errorf("petstore %v: got code %d, want 1", args, code)
		}
		return stderr
	}
	want := fmt.Sprintf("open the store copy.db: it is an unfinished copy of %s: run the same petstore copy again, which begins anew, or use another store\n", harness.StorePath(dir))
	for _, args := range []string{"serve", "keys list", "seed", "migrate status"} {
		if got := stderrOf(append(strings.Fields(args), "--set", "database.dsn=copy.db")...); !strings.HasSuffix(got, want) && !strings.Contains(got, strings.TrimSpace(want)) {
			t.Errorf("%s: got stderr %q, want %q", args, got, want)
		}
	}
	stdout, _, code := harness.Run(t, dir, "copy", "--to", "copy.db")
	if code != 0 || !strings.HasPrefix(harness.CopiedTables(stdout), "pets: 40000 rows, SHA-256 ") {
		t.Errorf("got code %d, stdout %q; want 0 and all rows", code, stdout)
	}
	harness.WantSameExports(t, dir, "copy.db")
}

func TestCopyOfServedStoreNeedsSnapshot(t *testing.T) {
	t.Parallel()
	dir := harness.SeededStore(t, "5000")
	s := harness.Start(t, dir)
	_, stderr, code := harness.Run(t, dir, "copy", "--to", "copy.db")
	want := "petstore: open the source " + harness.StorePath(dir) + ": a process has it open: stop the service and all petstore commands, then try again, " +
		"or add --snapshot to copy it as it is now, without later changes: nothing was copied\n"
	if code != 1 || stderr != want {
		t.Errorf("served source: got code %d, stderr %q; want 1 and %q", code, stderr, want)
	}
	if found := modes(t, dir); found["copy.db"] != 0 {
		t.Error("copy.db was created")
	}
	other := harness.NewStore(t)
	_, stderr, code = harness.Run(t, dir, "copy", "--from", harness.StorePath(other), "--snapshot")
	want = "petstore: open the target " + harness.StorePath(dir) + ": a process has it open: stop the service and all petstore commands, then try again: nothing was copied\n"
	if code != 1 || stderr != want {
		t.Errorf("served target: got code %d, stderr %q; want 1 and %q", code, stderr, want)
	}
	done := make(chan int, 1)
	stop := make(chan struct{})
	go func() {
		placed := 0
		for id := 5_001; ; id++ { // each a new pet and its order
			select {
			case <-stop:
				done <- placed
				return
			default:
			}
			status, _, err := s.Do(t.Context(), http.MethodPost, "/v1/pets", `{"name":"Rex","categoryId":1,"status":"available"}`)
			if err == nil && status == http.StatusCreated {
				status, _, err = s.Do(t.Context(), http.MethodPost, "/v1/store/orders", fmt.Sprintf(`{"petId":%d}`, id))
			}
			if err == nil && status == http.StatusCreated {
				placed++
			}
		}
	}()
	for i := range 3 {
		path := fmt.Sprintf("copy%d.db", i)
		if _, stderr, code := harness.Run(t, dir, "copy", "--to", path, "--snapshot"); code != 0 {
			t.Fatalf("got code %d, stderr %q", code, stderr)
		}
		db := harness.OpenSQLite(t, filepath.Join(dir, path))
		var unordered, orphans int
		err := db.QueryRowContext(t.Context(), `SELECT (SELECT count(*) FROM pets WHERE status = 'pending' AND id > 5000 AND id NOT IN (SELECT pet_id FROM orders)),
			(SELECT count(*) FROM orders WHERE status = 'placed' AND pet_id NOT IN (SELECT id FROM pets WHERE status = 'pending'))`).Scan(&unordered, &orphans)
		if closeErr := db.Close(); err != nil || closeErr != nil || unordered+orphans > 0 {
			t.Errorf("got %v %v, %d pending pets without an order, %d orders without a pending pet; want none", err, closeErr, unordered, orphans)
		}
	}
	close(stop)
	if placed := <-done; placed == 0 {
		t.Error("no order was placed meanwhile")
	}
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
