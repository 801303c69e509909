package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func TestStoreIsLockedInMemory(t *testing.T) {
	t.Parallel()
	name := filepath.Join(t.TempDir(), "pets.db")
	if err := os.WriteFile(name, make([]byte, 16<<10), 0o600); err != nil { // a quarter of the smallest common ulimit -l
		t.Fatal(err)
	}
	var progress strings.Builder
	unlock, err := (&harness{progress: &progress}).lockInMemory(name)
	if err != nil || progress.Len() > 0 {
		t.Fatalf("error %v, progress %q", err, &progress)
	}
	if got := locked(t, name); got != "16 kB" {
		t.Errorf("%q of the file is locked, want all 16 kB", got)
	}
	unlock()
	if got := locked(t, name); got != "" {
		t.Errorf("%q of the file is locked after unlock", got)
	}
}

// locked returns how much of a file this process has locked (proc_pid_smaps(5)).
func locked(t *testing.T, name string) string {
	t.Helper()
	maps, err := os.ReadFile("/proc/self/smaps")
	if err != nil {
		t.Fatal(err)
	}
	_, mapping, _ := strings.Cut(string(maps), name+"\n")
	_, amount, _ := strings.Cut(mapping, "\nLocked:")
	amount, _, _ = strings.Cut(amount, "\n")
	return strings.TrimSpace(amount)
}
