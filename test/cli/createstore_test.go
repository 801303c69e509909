package cli

import (
	"io/fs"
	"os"
	"testing"

	"example.com/petstore/test/harness"

	"github.com/google/go-cmp/cmp"
)

func TestNewStoreHasMode0600AndAnExistingOneKeepsItsOwn(t *testing.T) {
	t.Parallel()
	for umask, dir := range map[string]string{"000": t.TempDir(), "022": t.TempDir(), "277": t.TempDir(), "002": harness.NewStore(t)} {
		mode := fs.FileMode(0o600)
		if umask == "002" {
			mode = 0o640
			harness.Check(t, os.Chmod(harness.StorePath(dir), mode))
		}
		harness.StartCommand(t, harness.CommandAfter(t.Context(), dir, "umask "+umask, "serve", "--first-key"))
		wantModes(t, dir, map[string]fs.FileMode{"petstore.db": mode, "petstore.db-shm": mode, "petstore.db-wal": mode})
	}
}

// wantModes expects that dir has the files with these modes, often those of before.
func wantModes(t *testing.T, dir string, want map[string]fs.FileMode) {
	t.Helper()
	if diff := cmp.Diff(want, modes(t, dir)); diff != "" {
		t.Errorf("the files of the directory and their modes (-want +got)\n%s", diff)
	}
}

// modes returns the permissions of the files in dir by their names.
func modes(t *testing.T, dir string) map[string]fs.FileMode {
	t.Helper()
	entries, err := os.ReadDir(dir)
	harness.Check(t, err)
	found := map[string]fs.FileMode{}
	for _, entry := range entries {
		info, err := entry.Info()
		harness.Check(t, err)
		found[entry.Name()] = info.Mode().Perm()
	}
	return found
}
