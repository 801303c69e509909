//go:build cgo && unix

package storefile

import (
	"cmp"
	"context"
	"database/sql"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"time"

	"github.com/mattn/go-sqlite3"
	"gorm.io/gorm"
)

// Errors of CheckWAL.
var (
	ErrForeignWAL error = ChangedError("the file was replaced, but the WAL beside it is that of the file before")
	ErrEmptied    error = ChangedError("the file of the store was emptied")
)

// CheckWAL returns a ChangedError if the WAL does not belong to the file at path, or if the file was emptied.
// It changes neither the file nor the WAL.
func CheckWAL(ctx context.Context, path string) error {
	if !HasWAL(path) {
		return checkNotEmptied(path)
	}
	reader := OpenPool(path, ReaderPragmas) // a read-only pool does not write the WAL to the file when it is closed
	defer func() { _ = reader.Close() }()
	return checkGeneration(ctx, path, reader)
}

// checkGeneration is CheckWAL with a given reader. An open reader needs no further descriptor, and can also
// read a WAL that was removed.
func checkGeneration(ctx context.Context, path string, reader *sql.DB) error {
	for range 5 { // another process may begin a generation between both reads
		if err := checkNotEmptied(path); err != nil {
			return err
		}
		file, err := readGenerationWithoutWAL(ctx, path)
		if Code(err) == sqlite3.ErrCorrupt {
			return nil // a checkpoint is running or was interrupted: the other pages are in the WAL
		}
		if err != nil {
			return err
		}
		withWAL, err := readGeneration(ctx, reader)
		if err != nil {
			return err
		}
		if file.current == withWAL.current || file.current == withWAL.previous {
			return nil
		}
		time.Sleep(BusyTimeout)
	}
	return fmt.Errorf("%w: to use a backup, run petstore restore with it; to use the file as it is, move %s away", ErrForeignWAL, walPath(path))
}

// checkNotEmptied rejects an empty file that has a WAL or shared memory. SQLite writes to a new file before
// it creates either of them.
func checkNotEmptied(path string) error {
	_, shmErr := os.Stat(shmPath(path))
	used := shmErr == nil || HasWAL(path)
	info, err := os.Stat(path) // checked last, because another process may create all three meanwhile
	if !used || err != nil || info.Size() > 0 {
		return nil //nolint:nilerr // whoever opens the file finds the error
	}
	return fmt.Errorf("%w: to use a backup, run petstore restore with it; to create a new store, move %s and %s away",
		ErrEmptied, walPath(path), shmPath(path))
}

// HasWAL reports whether a file has a WAL that is not empty. It reports false if it cannot find out; SQLite
// then reports the error.
func HasWAL(path string) bool {
	info, err := os.Stat(walPath(path))
	return err == nil && info.Size() > 0
}

// A generation is a random number in the file of a store. It shows that the WAL belongs to the file. When a
// file is copied over the file of a store and the WAL of the previous file is still there, SQLite would
// apply that WAL to the new file. Then the new file, read without the WAL, has neither the current nor the
// previous generation of the WAL.
//
// Both generations are rows of sqlite_sequence, because each insert into a table with AUTOINCREMENT writes
// the page of sqlite_sequence to the WAL. A new generation begins with each copy, and when the first
// connection to a store is opened.
type generation struct {
	current, previous int64 // zero if there is none
}

const (
	currentGeneration  = "store_generation"
	previousGeneration = "store_generation_previous"
)

// readGeneration reads the generation of a database. A database without tables has none.
func readGeneration(ctx context.Context, db gorm.ConnPool) (g generation, err error) {
	var tables int
	err = db.QueryRowContext(ctx, "SELECT count(*) FROM sqlite_schema WHERE name = 'sqlite_sequence'").Scan(&tables)
	if err != nil || tables == 0 {
		return g, err
	}
	err = db.QueryRowContext(ctx, `SELECT coalesce(max(seq) FILTER (WHERE name = ?), 0), coalesce(max(seq) FILTER (WHERE name = ?), 0)
		FROM sqlite_sequence`, currentGeneration, previousGeneration).Scan(&g.current, &g.previous)
	return g, err
}

// readGenerationWithoutWAL reads the generation of a file. If all tables are still in the WAL, the file has
// none.
func readGenerationWithoutWAL(ctx context.Context, path string) (generation, error) {
	pool := OpenPool(path, ImmutablePragmas)
	defer func() { _ = pool.Close() }()
	return readGeneration(ctx, pool)
}

// BeginGeneration begins two generations. Afterwards no earlier copy of the file has the current or the
// previous generation. It begins a generation only when the current one is in the file and on disk.
// Otherwise, after a crash, the file could have a generation that its WAL does not have.
func BeginGeneration(ctx context.Context, writer *sql.Conn, path string) error {
	for range 2 {
		if _, complete, err := checkpoint(ctx, writer, "PASSIVE"); err != nil || !complete {
			return err
		}
		if err := nextGeneration(ctx, writer, path); err != nil {
			return err
		}
	}
	return nil
}

func nextGeneration(ctx context.Context, writer *sql.Conn, path string) error {
	tx, err := writer.BeginTx(ctx, nil)
	if err != nil {
		return err
	}
	defer func() { _ = tx.Rollback() }()
	current, err := readGeneration(ctx, tx)
	if err != nil {
		return err
	}
	file, err := readGenerationWithoutWAL(ctx, path)
	if err != nil || file.current != current.current {
		return err
	}
	if err := WriteGeneration(ctx, tx, current.current); err != nil {
		return err
	}
	return tx.Commit()
}

// WriteGeneration begins a generation after the generation previous, or after none if previous is zero.
func WriteGeneration(ctx context.Context, db gorm.ConnPool, previous int64) error {
	_, err := db.ExecContext(ctx, "DELETE FROM sqlite_sequence WHERE name IN (?, ?); INSERT INTO sqlite_sequence (name, seq) VALUES (?, ?), (?, ?)",
		currentGeneration, previousGeneration, currentGeneration, rand.Int64(), previousGeneration, previous) //nolint:gosec // no secret
	return err
}

// identityRow is the name of a row of sqlite_sequence. It has a random number, the identity, which is the
// same in a store and its backups.
const identityRow = "store_identity"

// EnsureIdentity gives a store an identity if it has none.
func EnsureIdentity(ctx context.Context, db *sql.DB) error {
	_, err := db.ExecContext(ctx,
		"INSERT INTO sqlite_sequence (name, seq) SELECT ?1, ?2 WHERE NOT EXISTS (SELECT 1 FROM sqlite_sequence WHERE name = ?1)",
		identityRow, rand.Int64()) //nolint:gosec // no secret
	return err
}

// SetIdentity sets the identity of a store to id, or to a new one if id is zero.
func SetIdentity(ctx context.Context, db *sql.DB, id int64) error {
	_, err := db.ExecContext(ctx, "DELETE FROM sqlite_sequence WHERE name = ?; INSERT INTO sqlite_sequence (name, seq) VALUES (?, ?)",
		identityRow, identityRow, cmp.Or(id, rand.Int64())) //nolint:gosec // no secret
	return err
}

// Identity returns the identity of a store or of a backup.
func Identity(ctx context.Context, db *sql.DB) (id int64, err error) {
	err = db.QueryRowContext(ctx, "SELECT seq FROM sqlite_sequence WHERE name = ?", identityRow).Scan(&id)
	if errors.Is(err, sql.ErrNoRows) {
		err = errors.New("the store has no identity yet: run petstore migrate up")
	}
	return id, err
}
