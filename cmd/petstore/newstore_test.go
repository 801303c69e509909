package main

import (
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestMistypedPathCreatesNoStore(t *testing.T) {
	t.Parallel()
	for _, args := range []string{
		"keys list", "keys list --output json", "keys rotate 1", "keys revoke 1", "migrate status",
		"keys create --name n --set database.migrate=false",
	} {
		for name, want := range map[string]string{
			"missing": "there is no such file: correct the path, or run petstore migrate up",
			"empty":   "there is no store in it yet: run petstore migrate up",
		} {
			t.Run(args+" "+name, func(t *testing.T) {
				t.Parallel()
				folder := t.TempDir()
				path := filepath.Join(folder, "typo.db")
				if name == "empty" {
					if err := os.WriteFile(path, nil, 0o600); err != nil {
						t.Fatal(err)
					}
				}
				before := modes(t, folder)
				stdout, stderr, code := output(t, folder, append(strings.Fields(args), "--set", "database.dsn="+path)...)
				want := fmt.Sprintf("petstore: open the store %s: %s\n", path, want)
				if code != 1 || stdout != "" || stderr != want {
					t.Errorf("code %d, stdout %q, stderr %q; want 1 and %q", code, stdout, stderr, want)
				}
				if diff := cmp.Diff(before, modes(t, folder)); diff != "" {
					t.Errorf("the folder changed (-before +after)\n%s", diff)
				}
			})
		}
	}
}

func TestCommandSaysThatItCreatedTheStore(t *testing.T) {
	t.Parallel()
	for _, args := range []string{"migrate up", "keys create --name n", "seed --count 0"} {
		for _, name := range []string{"missing", "empty"} {
			t.Run(args+" "+name, func(t *testing.T) {
				t.Parallel()
				folder := t.TempDir()
				if name == "empty" {
					if err := os.WriteFile(database(folder), nil, 0o600); err != nil {
						t.Fatal(err)
					}
				}
				want := "petstore: created the store " + database(folder) + "\n"
				if _, stderr, code := output(t, folder, strings.Fields(args)...); code != 0 || stderr != want {
					t.Errorf("code %d, stderr %q; want 0 and %q", code, stderr, want)
				}
				if _, stderr, code := output(t, folder, strings.Fields(args)...); code != 0 || stderr != "" {
					t.Errorf("once more: code %d, stderr %q", code, stderr)
				}
			})
		}
	}
}

func TestNewStoreHasMode0600(t *testing.T) {
	t.Parallel()
	for _, umask := range []string{"000", "022", "277"} {
		folder := t.TempDir()
		startCommand(t, prepared(t.Context(), folder, "umask "+umask, "serve", "--first-key"))
		want := map[string]fs.FileMode{"petstore.db": 0o600, "petstore.db-shm": 0o600, "petstore.db-wal": 0o600}
		if diff := cmp.Diff(want, modes(t, folder)); diff != "" {
			t.Errorf("umask %s (-want +got)\n%s", umask, diff)
		}
	}
}

func TestModeOfExistingStoreIsKept(t *testing.T) {
	t.Parallel()
	folder := folderWithStore(t)
	if err := os.Chmod(database(folder), 0o640); err != nil {
		t.Fatal(err)
	}
	start(t, folder)
	want := map[string]fs.FileMode{"petstore.db": 0o640, "petstore.db-shm": 0o640, "petstore.db-wal": 0o640}
	if diff := cmp.Diff(want, modes(t, folder)); diff != "" {
		t.Errorf("(-want +got)\n%s", diff)
	}
}

// folderWithStore returns a folder with a new store in it.
func folderWithStore(t *testing.T) string {
	t.Helper()
	folder := t.TempDir()
	if _, stderr, code := output(t, folder, "migrate", "up"); code != 0 {
		t.Fatal(stderr)
	}
	return folder
}

// modes returns the permissions of the files in a folder by their names.
func modes(t *testing.T, folder string) map[string]fs.FileMode {
	t.Helper()
	entriesOf, err := os.ReadDir(folder)
	if err != nil {
		t.Fatal(err)
	}
	found := map[string]fs.FileMode{}
	for _, entry := range entriesOf {
		info, err := entry.Info()
		if err != nil {
			t.Fatal(err)
		}
		found[entry.Name()] = info.Mode().Perm()
	}
	return found
}
