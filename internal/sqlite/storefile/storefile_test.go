//go:build cgo

package storefile_test

import (
	"os"
	"path/filepath"
	"testing"

	"go.uber.org/goleak"

	"example.com/petstore/internal/test/sqlitetest"
	"example.com/petstore/internal/test/testkit"
	"example.com/petstore/repository"
	"example.com/petstore/repository/sqlite"
)

var check = testkit.Check

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func TestOpenRejectsInvalidPaths(t *testing.T) {
	t.Parallel()
	folder := t.TempDir()
	sqlitetest.WriteFile("")(t, filepath.Join(folder, "file"))
	check(t, os.Symlink("missing.db", filepath.Join(folder, "link")))
	for _, test := range []struct{ path, want string }{
		{"", "the path of a file"},
		{":memory:", "the path of a file"},
		{"file:pets.db", "the path of a file"},
		{filepath.Join(folder, "none", "pets.db"), "there is no folder " + filepath.Join(folder, "none")},
		{folder + "/none/../pets.db", "there is no folder " + folder + "/none/.."},
		{filepath.Join(folder, "file", "pets.db"), "not a directory"},
		{filepath.Join(folder, "link"), "a symbolic link to a file that does not exist"},
	} {
		_, err := repository.Open(t.Context(), sqlite.New(test.path), repository.Options{})
		testkit.WantMessage(t, test.path, err, test.want)
	}
}

func TestOpenRejectsWALOrSharedMemoryWithoutItsFile(t *testing.T) {
	t.Parallel()
	for _, suffix := range []string{"-wal", "-shm"} {
		path := sqlitetest.NewPath(t)
		sqlitetest.WriteFile("commits")(t, path+suffix)
		wantUnchanged := sqlitetest.Unchanged(t, filepath.Dir(path))
		_, err := repository.Open(t.Context(), sqlite.New(path), repository.Options{})
		want := "put the file back, run petstore restore with a backup, or move " + path + suffix + " away"
		testkit.WantMessage(t, "the error", err, want)
		wantUnchanged()
	}
}
