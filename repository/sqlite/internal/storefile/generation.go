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

// CheckWAL returns a ChangedError for a WAL that belongs to another file than the one at path, and for
// a file that was emptied, without changing either.
func CheckWAL(ctx context.Context, path string) error {
	if !HasWAL(path) {
		return checkNotEmptied(path)
	}
	reader := OpenPool(path, ReaderPragmas) // which does not write the WAL to the file when it is closed
	defer func() { _ = reader.Close() }()
	return checkGeneration(ctx, path, reader)
}

// checkGeneration is CheckWAL with a reader. One that is open needs no further descriptor, and reads
// also a WAL that was removed.
func checkGeneration(ctx context.Context, path string, reader *sql.DB) error {
	for range 5 { // another process may begin a generation between the two reads
		if err := checkNotEmptied(path); err != nil {
			return err
		}
		file, err := readGenerationWithoutWAL(ctx, path)
		if Code(err) == sqlite3.ErrCorrupt {
			return nil // a checkpoint was interrupted, or is running: the WAL has the other pages
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

// checkNotEmptied rejects a file that is empty although it has a WAL or shared memory: SQLite writes
// to a file before it creates them, and creates neither for one that was only created.
func checkNotEmptied(path string) error {
	_, shmErr := os.Stat(shmPath(path))
	used := shmErr == nil || HasWAL(path)
	info, err := os.Stat(path) // after those: another process may create all three meanwhile
	if !used || err != nil || info.Size() > 0 {
		return nil //nolint:nilerr // whoever opens the file finds the error
	}
	return fmt.Errorf("%w: to use a backup, run petstore restore with it; to create a new store, move %s and %s away",
		ErrEmptied, walPath(path), shmPath(path))
}

// HasWAL reports whether a file has a WAL that is not empty. SQLite reports any error.
func HasWAL(path string) bool {
	info, err := os.Stat(walPath(path))
	return err == nil && info.Size() > 0
}

// A generation is a random number in the file of a store. When a file is copied over that
// of a store while the WAL of the previous file is still beside it, SQLite would apply the
// WAL to the wrong file. Then the file, read without its WAL, has a generation that is neither
// the current nor the previous one of the WAL.
//
// They are rows of sqlite_sequence, because every insert into a table with AUTOINCREMENT
// writes the page of that table to the WAL, with these rows. Each first connection to a
// store and each copy begins a new generation.
type generation struct {
	current, previous int64 // zero before the first one
}

const (
	currentGeneration  = "store_generation"
	previousGeneration = "store_generation_previous"
)

// readGeneration reads the generation of a database. One without tables has none.
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

// readGenerationWithoutWAL reads the generation of a file. If its tables are still in the WAL, it has
// none.
func readGenerationWithoutWAL(ctx context.Context, path string) (generation, error) {
	pool := OpenPool(path, ImmutablePragmas)
	defer func() { _ = pool.Close() }()
	return readGeneration(ctx, pool)
}

// BeginGeneration begins two generations, so that the WAL contains none that an earlier
// copy may have. It begins one only when the current one is in the file, on disk:
// otherwise, after a crash, the file could have one that its WAL does not contain.
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

// WriteGeneration begins a generation after the previous one, zero for none.
func WriteGeneration(ctx context.Context, db gorm.ConnPool, previous int64) error {
	_, err := db.ExecContext(ctx, "DELETE FROM sqlite_sequence WHERE name IN (?, ?); INSERT INTO sqlite_sequence (name, seq) VALUES (?, ?), (?, ?)",
		currentGeneration, previousGeneration, currentGeneration, rand.Int64(), previousGeneration, previous) //nolint:gosec // no secret
	return err
}

// identityRow is the name of a row of sqlite_sequence with a random number, which a store and its backups
// have.
const identityRow = "store_identity"

// EnsureIdentity gives a store its identity, unless it has one.
func EnsureIdentity(ctx context.Context, db *sql.DB) error {
	_, err := db.ExecContext(ctx,
		"INSERT INTO sqlite_sequence (name, seq) SELECT ?1, ?2 WHERE NOT EXISTS (SELECT 1 FROM sqlite_sequence WHERE name = ?1)",
		identityRow, rand.Int64()) //nolint:gosec // no secret
	return err
}

// SetIdentity gives a store an identity, a new one if it is zero.
func SetIdentity(ctx context.Context, db *sql.DB, id int64) error {
	_, err := db.ExecContext(ctx, "DELETE FROM sqlite_sequence WHERE name = ?; INSERT INTO sqlite_sequence (name, seq) VALUES (?, ?)",
		identityRow, identityRow, cmp.Or(id, rand.Int64())) //nolint:gosec // no secret
	return err
}

// Identity returns the identity of a store, or of a backup.
func Identity(ctx context.Context, db *sql.DB) (id int64, err error) {
	err = db.QueryRowContext(ctx, "SELECT seq FROM sqlite_sequence WHERE name = ?", identityRow).Scan(&id)
	if errors.Is(err, sql.ErrNoRows) {
		err = errors.New("the store has no identity yet: run petstore migrate up")
	}
	return id, err
}
