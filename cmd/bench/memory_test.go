package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func TestHeldFileIsLockedInMemory(t *testing.T) {
	t.Parallel()
	name := filepath.Join(t.TempDir(), "pets.db")
	if err := os.WriteFile(name, make([]byte, 16<<10), 0o600); err != nil { // a quarter of the least usual ulimit -l
		t.Fatal(err)
	}
	var told strings.Builder
	release, err := (&lab{progress: &told}).hold(name)
	if err != nil || told.Len() > 0 {
		t.Fatalf("%v, said %q", err, &told)
	}
	if got := locked(t, name); got != "16 kB" {
		t.Errorf("%q of the file is locked, want all 16 kB", got)
	}
	release()
	if got := locked(t, name); got != "" {
		t.Errorf("%q of the file is locked after its release", got)
	}
}

// locked is how much of a file this process has locked, by proc_pid_smaps(5).
func locked(t *testing.T, name string) string {
	t.Helper()
	maps, err := os.ReadFile("/proc/self/smaps")
	if err != nil {
		t.Fatal(err)
	}
	_, of, _ := strings.Cut(string(maps), name+"\n")
	_, amount, _ := strings.Cut(of, "\nLocked:")
	amount, _, _ = strings.Cut(amount, "\n")
	return strings.TrimSpace(amount)
}
