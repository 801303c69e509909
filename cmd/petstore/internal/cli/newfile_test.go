package cli

import (
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
)

func check(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

func names(t *testing.T, dir string) []string {
	t.Helper()
	found, err := fs.Glob(os.DirFS(dir), "*")
	check(t, err)
	return found
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
	path := filepath.Join(t.TempDir(), "pets.csv")
	file, err := createFile(path)
	check(t, err)
	writeOther := os.WriteFile(path, []byte("other"), 0o600)
	published := file.publish()
	file.discard()
	_, created := createFile(path)
	for name, err := range map[string]error{"publish": published, "createFile": created} {
		if err == nil || !strings.HasSuffix(err.Error(), "pets.csv exists already: name another file, or move it away") {
			t.Errorf("%s: got %v, want an error that the file exists", name, err)
		}
	}
	if text, err := os.ReadFile(path); err != nil || writeOther != nil || string(text) != "other" {
		t.Errorf("got %q, %v, %v, want the text of the other file", text, err, writeOther)
	}
}

// A process that is killed within publish leaves two names of one file.
func TestLeftoverIsReplacedWithoutWritingToIt(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	moved, path := filepath.Join(dir, "moved"), filepath.Join(dir, "pets.csv")
	publishFile(t, moved, "published")
	check(t, os.Link(moved, path+".partial"))
	publishFile(t, path, "new")
	for path, want := range map[string]string{moved: "published", path: "new"} {
		if text, err := os.ReadFile(path); err != nil || string(text) != want {
			t.Errorf("%s: got %q, %v, want %q", path, text, err, want)
		}
	}
	if found := names(t, dir); len(found) != 2 {
		t.Errorf("got the files %v, want no partial file", found)
	}
}

func TestSecondNameOfPublishedFileIsRemoved(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	path := filepath.Join(dir, "pets.csv")
	publishFile(t, path, "published")
	check(t, os.Link(path, path+".partial"))
	if _, err := createFile(path); err == nil || !strings.HasSuffix(err.Error(), "pets.csv exists already: name another file, or move it away") {
		t.Errorf("got %v, want an error that the file exists", err)
	}
	if found := names(t, dir); len(found) != 1 {
		t.Errorf("got the files %v, want one", found)
	}
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
		} else if want := "another process is writing " + path + ".partial: wait for it, or name another file"; errs[i].Error() != want {
			t.Errorf("got %v, want %s", errs[i], want)
		}
	}
	if created != 1 {
		t.Errorf("got %d writers of a file, want 1", created)
	}
}

func TestNewFileNeedsAFolder(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "none", "pets.csv")
	if _, err := createFile(path); err == nil || err.Error() != "there is no folder "+filepath.Dir(path)+": create it" {
		t.Errorf("got %v, want an error that names the folder", err)
	}
	if _, err := createFile(""); err == nil {
		t.Error("an empty name: got no error")
	}
}

func TestDiscardKeepsTheFileOfAnotherWriter(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "pets.csv")
	file, err := createFile(path)
	check(t, err)
	if err := os.Rename(file.Name(), path); err != nil { // as restore does
		t.Fatal(err)
	}
	check(t, os.WriteFile(path+".partial", []byte("other"), 0o600))
	file.discard()
	if found := names(t, filepath.Dir(path)); len(found) != 2 {
		t.Errorf("got the files %v, want both", found)
	}
}
