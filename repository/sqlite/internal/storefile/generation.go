package storefile

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"time"

	"gorm.io/gorm"
)

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
	rows, err := db.QueryContext(ctx, "SELECT name, seq FROM sqlite_sequence WHERE name IN (?, ?)", currentGeneration, previousGeneration)
	if err != nil {
		return g, err
	}
	defer rows.Close()
	for rows.Next() {
		var name string
		var number int64
		if err := rows.Scan(&name, &number); err != nil {
			return g, err
		}
		if name == currentGeneration {
			g.current = number
		} else {
			g.previous = number
		}
	}
	return g, rows.Err()
}

// readGenerationWithoutWAL reads the generation of a file without its WAL. A file whose tables
// are still in the WAL has none.
func readGenerationWithoutWAL(ctx context.Context, path string) (g generation, err error) {
	pool, err := sql.Open("sqlite3", DSN(path, ImmutablePragmas))
	if err != nil {
		return g, err
	}
	defer func() { _ = pool.Close() }()
	return readGeneration(ctx, pool)
}

// CheckWAL rejects a WAL that belongs to another file than the one at path, and a file that was
// emptied, without changing either. The WAL contains the generation of its file as the current
// or the previous one, see BeginGeneration. reader is a connection that this process has open,
// or nil: it needs no further descriptors, and reads also a WAL that was removed.
func CheckWAL(ctx context.Context, path string, reader *sql.DB) error {
	// Another process may begin a generation between the two reads.
	for range 5 {
		if wasEmptied(path) {
			return fmt.Errorf("%w: to use a backup, run petstore restore with it; to create a new store, move %s and %s away",
				ErrEmptied, walPath(path), shmPath(path))
		}
		if reader == nil && !HasWAL(path) {
			return nil
		}
		file, err := readGenerationWithoutWAL(ctx, path)
		if IsCorrupt(err) {
			return nil // a checkpoint was interrupted, or is running: the WAL has the other pages
		}
		if err != nil {
			return err
		}
		pair, err := readGenerationWithWAL(ctx, path, reader)
		if err != nil {
			return err
		}
		if file.current == pair.current || file.current == pair.previous {
			return nil
		}
		time.Sleep(BusyTimeout)
	}
	return foreignWAL(path)
}

// Errors of CheckWAL.
var (
	ErrForeignWAL = errors.New("the file was replaced, but the WAL beside it is that of the file before")
	ErrEmptied    = errors.New("the file of the store was emptied")
)

func foreignWAL(path string) error {
	return fmt.Errorf("%w: to use a backup, run petstore restore with it; to use the file as it is, move %s away", ErrForeignWAL, walPath(path))
}

// IsForeign reports whether CheckWAL has found another file than that of the WAL or of the
// shared memory.
func IsForeign(err error) bool {
	return errors.Is(err, ErrForeignWAL) || errors.Is(err, ErrEmptied)
}

// wasEmptied reports whether a file is empty although it has a WAL or shared memory: SQLite
// writes to a file before it creates them, and creates neither for one that was only created.
func wasEmptied(path string) bool {
	_, shmErr := os.Stat(shmPath(path))
	used := shmErr == nil || HasWAL(path)
	info, err := os.Stat(path) // after those: another process may create all three meanwhile
	return used && err == nil && info.Size() == 0
}

// HasWAL reports whether a file has a WAL that is not empty. SQLite reports any error.
func HasWAL(path string) bool {
	info, err := os.Stat(walPath(path))
	return err == nil && info.Size() > 0
}

// readGenerationWithWAL reads the generation of a file with its WAL. A read-only connection
// does not write the WAL to the file when it is closed.
func readGenerationWithWAL(ctx context.Context, path string, reader *sql.DB) (g generation, err error) {
	if reader != nil {
		return readGeneration(ctx, reader)
	}
	pool, err := sql.Open("sqlite3", DSN(path, ReaderPragmas))
	if err != nil {
		return g, err
	}
	defer func() { _ = pool.Close() }()
	return readGeneration(ctx, pool)
}

// BeginGeneration begins two generations, so that the WAL contains none that an earlier
// copy may have. It begins one only when the current one is in the file, on disk:
// otherwise, after a crash, the file could have one that its WAL does not contain.
func BeginGeneration(ctx context.Context, writer *sql.Conn, path string) error {
	for range 2 {
		if complete, err := checkpoint(ctx, writer); err != nil || !complete {
			return err
		}
		if err := nextGeneration(ctx, writer, path); err != nil {
			return err
		}
	}
	return nil
}

// checkpoint writes the WAL to the file and to disk. It reports whether it wrote all of it,
// which other connections may prevent.
func checkpoint(ctx context.Context, writer *sql.Conn) (complete bool, err error) {
	var busy, frames, written int
	err = writer.QueryRowContext(ctx, "PRAGMA wal_checkpoint").Scan(&busy, &frames, &written)
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
	_, err := db.ExecContext(ctx, "DELETE FROM sqlite_sequence WHERE name IN (?, ?)", currentGeneration, previousGeneration)
	if err != nil {
		return err
	}
	_, err = db.ExecContext(ctx, "INSERT INTO sqlite_sequence (name, seq) VALUES (?, ?), (?, ?)",
		currentGeneration, rand.Int64(), previousGeneration, previous) //nolint:gosec // no secret
	return err
}
