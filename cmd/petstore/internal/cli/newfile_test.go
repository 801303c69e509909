package cli

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"example.com/petstore/internal/test/testkit"
)

var check = testkit.Check

const existsAlready = "pets.csv exists already: name another file, or move it away"

func wantError(t *testing.T, err error, end string) {
	t.Helper()
	if err == nil || !strings.HasSuffix(err.Error(), end) {
		t.Errorf("got %v, want an error that ends with %q", err, end)
	}
}

// wantFiles expects that dir has exactly the files in want, with their texts by name.
func wantFiles(t *testing.T, dir string, want map[string]string) {
	t.Helper()
	entries, err := os.ReadDir(dir)
	check(t, err)
	found := map[string]string{}
	for _, entry := range entries {
		text, err := os.ReadFile(filepath.Join(dir, entry.Name()))
		check(t, err)
		found[entry.Name()] = string(text)
	}
	if diff := cmp.Diff(want, found); diff != "" {
		t.Errorf("the files (-want +got)\n%s", diff)
	}
}

func publishFile(t *testing.T, path, text string) {
	t.Helper()
	file, err := createFile(path)
	check(t, err)
	defer file.discard()
	if _, err := file.WriteString(text); err != nil {
		t.Fatal(err)
	}
	check(t, file.publish())
}

func TestNewFileOverwritesNoFile(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	path := filepath.Join(dir, "pets.csv")
	file, err := createFile(path)
	check(t, err)
	check(t, os.WriteFile(path, []byte("other"), 0o600))
	wantError(t, file.publish(), existsAlready)
	file.discard()
	_, err = createFile(path)
	wantError(t, err, existsAlready)
	wantFiles(t, dir, map[string]string{"pets.csv": "other"})
}

func TestNewFileNeedsANameAndAFolder(t *testing.T) {
	t.Parallel()
	none := filepath.Join(t.TempDir(), "none")
	_, err := createFile(filepath.Join(none, "pets.csv"))
	wantError(t, err, "there is no folder "+none+": create it")
	_, err = createFile("")
	wantError(t, err, "the name of the file is empty")
}

// Each writer writes to a file of its own. Only one of the files gets the name, and only when it is complete.
func TestWritersOfOneNewFileDoNotMeet(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	path := filepath.Join(dir, "*.csv")
	first, err := createFile(path)
	check(t, err)
	publishFile(t, path, "second")
	check(t, os.Rename(first.Name(), filepath.Join(dir, "moved"))) // restore moves a file in this way
	first.discard()
	wantFiles(t, dir, map[string]string{"*.csv": "second", "moved": ""})
}
