package cli

import (
	"os"
	"path/filepath"
	"strings"
	"sync"
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

// wantFiles expects that dir has these files, by their names, with these texts.
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

// A process that is killed within publish leaves two names of one file.
func TestSecondNameOfPublishedFileIsRemovedWithoutWritingToIt(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	moved, path := filepath.Join(dir, "moved"), filepath.Join(dir, "pets.csv")
	publishFile(t, moved, "published")
	check(t, os.Link(moved, path+".partial"))
	publishFile(t, path, "new")
	wantFiles(t, dir, map[string]string{"moved": "published", "pets.csv": "new"})

	check(t, os.Link(path, path+".partial"))
	_, err := createFile(path)
	wantError(t, err, existsAlready)
	wantFiles(t, dir, map[string]string{"moved": "published", "pets.csv": "new"})
}

func TestFileHasOneWriter(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "pets.csv")
	check(t, os.WriteFile(path+".partial", []byte("leftover"), 0o600))
	files, errs := make([]*newFile, 20), make([]error, 20)
	var writers sync.WaitGroup
	for i := range files {
		writers.Go(func() { files[i], errs[i] = createFile(path) })
	}
	writers.Wait()
	created := 0
	for i, file := range files {
		if errs[i] == nil {
			created++
			defer file.discard()
		} else {
			wantError(t, errs[i], "another process is writing "+path+".partial: wait for it, or name another file")
		}
	}
	if created != 1 {
		t.Errorf("got %d writers of a file, want 1", created)
	}
}

func TestNewFileNeedsANameAndAFolder(t *testing.T) {
	t.Parallel()
	none := filepath.Join(t.TempDir(), "none")
	_, err := createFile(filepath.Join(none, "pets.csv"))
	wantError(t, err, "there is no folder "+none+": create it")
	_, err = createFile("")
	wantError(t, err, "the name of the file is empty")
}

func TestDiscardKeepsTheFileOfAnotherWriter(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	path := filepath.Join(dir, "pets.csv")
	file, err := createFile(path)
	check(t, err)
	check(t, os.Rename(file.Name(), path)) // as restore does
	check(t, os.WriteFile(path+".partial", []byte("other"), 0o600))
	file.discard()
	wantFiles(t, dir, map[string]string{"pets.csv": "", "pets.csv.partial": "other"})
}
