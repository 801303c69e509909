//go:build cgo

package sqlite_test

import (
	"bytes"
	"os"
	"testing"

	"example.com/petstore/internal/test/testkit"
	"example.com/petstore/repository/engine"
	"example.com/petstore/repository/sqlite"
	"example.com/petstore/repository/sqlite/internal/sqlitetest"
)

// A failed commit is also overwritten between transactions. Nothing is written to a damaged file.
func TestFailedCommitIsOverwrittenUnlessTheFileIsDamaged(t *testing.T) {
	t.Parallel()
	for name, damage := range map[string]func(path string) error{
		"intact":    func(string) error { return nil },
		"truncated": func(path string) error { return os.Truncate(path, 8192) },
		"moved":     func(path string) error { return os.Rename(path, path+".moved") },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			path := sqlitetest.NewPath(t)
			database, err := sqlite.New(path).Open(t.Context(), engine.Options{})
			check(t, err)
			t.Cleanup(func() { _ = database.Close() })
			check(t, damage(path))
			before := sqlitetest.ReadFile(t, path+"-wal")
			sqlite.FailCommit(database)
			sqlite.Watch(database)
			wrote := !bytes.Equal(before, sqlitetest.ReadFile(t, path+"-wal"))
			testkit.Equal(t, "whether the WAL was written to", name == "intact", wrote)
		})
	}
}
