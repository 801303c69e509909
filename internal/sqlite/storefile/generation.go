//go:build cgo && unix

package storefile

import (
	"cmp"
	"context"
	"database/sql"
	"fmt"
	"math/rand/v2"
	"os"
	"time"

	"github.com/mattn/go-sqlite3"
	"gorm.io/gorm"
)

// Errors of CheckWAL and CheckNotOverwritten.
var (
	ErrForeignWAL  error = ReplacedError("the file was replaced, but the WAL beside it is that of the file before")
	ErrEmptied     error = ReplacedError("the file of the store was emptied")
	ErrWALRemoved  error = ReplacedError("the WAL of the store was removed while it was open")
	ErrOverwritten error = ReplacedError("the file of the store was overwritten while it was open: run petstore restore with a backup")
)

// CheckWAL returns a ReplacedError if the WAL does not belong to the file at path, if the WAL was removed, or
// if the file was emptied. It changes neither the file nor the WAL.
func CheckWAL(ctx context.Context, path string) error {
	if err := checkSharedMemory(path); err != nil || !HasWAL(path) {
		return err
	}
	reader := OpenPool(path, ReaderPragmas) // a read-only pool does not write the WAL to the file when it is closed
	defer func() { _ = reader.Close() }()
	for range 5 { // another process may begin a generation between both reads
		file, err := generationOfFile(ctx, path)
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
		if file == withWAL.current || file == withWAL.previous {
			return nil
		}
		time.Sleep(BusyTimeout)
	}
	return fmt.Errorf("%w: to use a backup, run petstore restore with it; to use the file as it is, move %s away", ErrForeignWAL, walPath(path))
}

// checkSharedMemory rejects an empty file that has a WAL or shared memory, and shared memory without a WAL.
// SQLite writes to a new file, creates the WAL and then the shared memory, and removes them in the reverse
// order. A connection to shared memory whose WAL was removed would create another WAL that damages the file.
func checkSharedMemory(path string) error {
	wal, shm := walPath(path), shmPath(path)
	// In this order: meanwhile, another process may create all three, or remove the WAL and the shared memory.
	walRemoved := !isFile(wal) && isFile(shm) && !isFile(wal)
	used := isFile(shm) || HasWAL(path)
	info, err := os.Stat(path)
	const useBackup = "to use a backup, run petstore restore with it"
	switch {
	case err != nil:
		return nil //nolint:nilerr // whoever opens the file finds the error
	case used && info.Size() == 0:
		return fmt.Errorf("%w: %s; to create a new store, move %s and %s away", ErrEmptied, useBackup, wal, shm)
	case walRemoved:
		return fmt.Errorf("%w, with its latest commits: restart the service if it runs; otherwise %s; to use the file as it is, move %s away",
			ErrWALRemoved, useBackup, shm)
	}
	return nil
}

func isFile(path string) bool {
	info, err := os.Stat(path)
	return err == nil && info.Mode().IsRegular()
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
// Both generations are in the row of the table store, whose page each change of a record writes to the WAL. A new
// generation begins with each copy, and when the first connection to a store is opened.
//
// The current generation is in the table store_file, too. Nothing else writes its page, so it is the generation of the
// file: a power failure during a checkpoint may leave a torn page of store. When a file is copied over the file of an open
// store, checkpoints write the generation of the WAL to the page of store, and store_file has that of the copied file.
type generation struct {
	current, previous int64 // zero if there is none
}

// readGeneration reads the generation of a database. A database without tables has none.
func readGeneration(ctx context.Context, db gorm.ConnPool) (g generation, err error) {
	if exists, err := hasTable(ctx, db, "store"); err != nil || !exists {
		return g, err
	}
	err = db.QueryRowContext(ctx, "SELECT generation, previous_generation FROM store").Scan(&g.current, &g.previous)
	return g, err
}

func hasTable(ctx context.Context, db gorm.ConnPool, name string) (exists bool, err error) {
	err = db.QueryRowContext(ctx, "SELECT count(*) FROM sqlite_schema WHERE name = ?", name).Scan(&exists)
	return exists, err
}

// CheckNotOverwritten returns ErrOverwritten if a file was copied over the file of a store while it was open,
// and a checkpoint has written to it since.
func CheckNotOverwritten(ctx context.Context, db gorm.ConnPool) error {
	if exists, err := hasTable(ctx, db, "store_file"); err != nil || !exists {
		return err
	}
	var same bool
	err := db.QueryRowContext(ctx, "SELECT NOT EXISTS (SELECT 1 FROM store_file, store WHERE store_file.generation <> store.generation)").Scan(&same)
	if err == nil && !same {
		err = ErrOverwritten
	}
	return err
}

// generationOfFile reads the current generation of a file without its WAL. If all tables are still in the WAL, the file
// has none.
func generationOfFile(ctx context.Context, path string) (current int64, err error) {
	pool := OpenPool(path, ImmutablePragmas)
	defer func() { _ = pool.Close() }()
	if exists, err := hasTable(ctx, pool, "store_file"); err != nil || !exists {
		return 0, err
	}
	err = pool.QueryRowContext(ctx, "SELECT generation FROM store_file").Scan(&current)
	return current, err
}

// BeginGeneration begins two generations. Afterwards no earlier copy of the file has the current or the
// previous generation. It begins a generation only when the current one is in the file and on disk.
// Otherwise, after a crash, the file could have a generation that its WAL does not have. In the end, the page
// of store_file is in the file, and no later checkpoint writes it.
func BeginGeneration(ctx context.Context, writer *sql.Conn, path string) error {
	for range 2 {
		if complete, err := checkpoint(ctx, writer); err != nil || !complete {
			return err
		}
		if err := nextGeneration(ctx, writer, path); err != nil {
			return err
		}
	}
	_, err := checkpoint(ctx, writer)
	return err
}

// checkpoint writes the WAL to the file. It reports whether all commits of the WAL are now in the file and on
// disk. Other connections may prevent that.
func checkpoint(ctx context.Context, writer *sql.Conn) (complete bool, err error) {
	var busy, frames, written int64
	err = writer.QueryRowContext(ctx, "PRAGMA wal_checkpoint(PASSIVE)").Scan(&busy, &frames, &written)
	return busy == 0 && written == frames, err
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
	file, err := generationOfFile(ctx, path)
	if err != nil || file != current.current {
		return err
	}
	if err := WriteGeneration(ctx, tx, current.current); err != nil {
		return err
	}
	return tx.Commit()
}

// WriteGeneration begins a generation after the generation previous, or after none if previous is zero.
func WriteGeneration(ctx context.Context, db gorm.ConnPool, previous int64) error {
	current := rand.Int64() //nolint:gosec // no secret
	const update = "UPDATE store SET generation = ?, previous_generation = ?; UPDATE store_file SET generation = ?"
	_, err := db.ExecContext(ctx, update, current, previous, current)
	return err
}

// SetIdentity sets the identity of a store to id, or to a new one if id is zero.
func SetIdentity(ctx context.Context, db *sql.DB, id int64) error {
	_, err := db.ExecContext(ctx, "UPDATE store SET identity = ?", cmp.Or(id, rand.Int64())) //nolint:gosec // no secret
	return err
}

// Identity returns the identity of a store or of a backup.
func Identity(ctx context.Context, db *sql.DB) (id int64, err error) {
	err = db.QueryRowContext(ctx, "SELECT identity FROM store").Scan(&id)
	return id, err
}
