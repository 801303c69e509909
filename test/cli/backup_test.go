package cli

import (
	"fmt"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"

	"example.com/petstore/test/harness"
)

func TestBackupHasEveryAcknowledgedAnimal(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	s := harness.Start(t, dir)
	for i := range 20 {
		s.AddPet(t, "Rex")
		name := fmt.Sprintf("%d.db", i)
		stdout, stderr, code := harness.RunCommand(t, harness.CommandAfter(t.Context(), dir, "umask 000", "backup", name))
		want := fmt.Sprintf("wrote %s: %d animals, 0 orders, 1 API keys, schema version ", name, i+1)
		if code != 0 || !strings.HasPrefix(stdout, want) || !strings.HasSuffix(stderr, " KiB\n") {
			t.Fatalf("got code %d, stdout %q, stderr %q; want 0, %q and the progress", code, stdout, stderr, want)
		}
		if mode := modes(t, dir)[name]; mode != 0o600 {
			t.Errorf("got the mode %v, want 0600", mode)
		}
	}
}

func TestInterruptedBackupWritesNothing(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	harness.Run(t, dir, "seed", "--count", "200000", "--orders", "0")
	before := modes(t, dir)
	lastLine, code := signalCommand(t, harness.Command(t.Context(), dir, "backup", "monday.db"), syscall.SIGINT)
	if code != 1 || lastLine != "petstore: interrupted: nothing was written\n" {
		t.Errorf("got code %d and the last line %q; want 1 and that it was interrupted", code, lastLine)
	}
	wantModes(t, dir, before)
}

func TestConcurrentBackupsRemoveNotAll(t *testing.T) {
	t.Parallel()
	dir, folder := harness.NewStore(t), t.TempDir()
	var wait sync.WaitGroup
	for range 6 {
		wait.Go(func() {
			if out, err := harness.Command(t.Context(), dir, "backup", "--keep", "1", folder).CombinedOutput(); err != nil && !strings.Contains(string(out), "another process is writing") {
				t.Errorf("%v: %s", err, out)
			}
		})
	}
	wait.Wait()
	if names, err := filepath.Glob(filepath.Join(folder, "petstore-*.db")); err != nil || len(names) == 0 {
		t.Errorf("got the backups %v, %v, want at least the latest", names, err)
	}
}
