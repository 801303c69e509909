//go:build cgo

package sqlite_test

import (
	"bytes"
	"database/sql"
	"os"
	"path/filepath"
	"testing"
	"time"

	"example.com/petstore/repository/engine"
	"example.com/petstore/repository/sqlite"
	"example.com/petstore/repository/sqlite/internal/sqlitetest"
)

// The commit that overwrites a failed one waits for the lock, as any other does.
func TestBeginAfterFailedCommitWaitsForTheLock(t *testing.T) {
	t.Parallel()
	database, path := sqlitetest.NewDatabase(t)
	other, err := sql.Open("sqlite3", "file:"+path+"?_txlock=immediate")
	check(t, err)
	defer func() { check(t, other.Close()) }()
	locked, err := other.BeginTx(t.Context(), nil)
	check(t, err)
	sqlite.FailCommit(database)
	time.AfterFunc(300*time.Millisecond, func() { _ = locked.Rollback() })
	tx, err := database.Begin(t.Context())
	check(t, err)
	check(t, tx.Rollback())
}

// A poll overwrites a failed commit, too, but writes nothing to a file that is damaged.
func TestPollOverwritesFailedCommitUnlessTheFileIsDamaged(t *testing.T) {
	t.Parallel()
	for name, damage := range map[string]func(path string) error{
		"intact":    func(string) error { return nil },
		"truncated": func(path string) error { return os.Truncate(path, 8192) },
		"moved":     func(path string) error { return os.Rename(path, path+".moved") },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			path := filepath.Join(t.TempDir(), "pets.db")
			database, err := sqlite.New(path).Open(t.Context(), engine.Options{Migrate: true})
			check(t, err)
			t.Cleanup(func() { _ = database.Close() })
			check(t, damage(path))
			before, err := os.ReadFile(path + "-wal")
			check(t, err)
			sqlite.FailCommit(database)
			_, _ = database.PollChanges(t.Context())
			after, err := os.ReadFile(path + "-wal")
			check(t, err)
			if wrote := !bytes.Equal(before, after); wrote != (name == "intact") {
				t.Errorf("the poll has written to the WAL: %t", wrote)
			}
		})
	}
}
