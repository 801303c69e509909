//go:build cgo && unix

package sqlite

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"net/url"
	"time"

	"github.com/mattn/go-sqlite3"

	"example.com/petstore/internal/sqlite/storefile"
)

// writerPragmas are the pragmas of the connection that writes. storefile.ReaderPragmas explains _mutex.
var writerPragmas = url.Values{
	"mode":             {"rw"}, // schema.CheckFile has created the file
	"_mutex":           {"no"},
	"_journal_mode":    {"WAL"},
	"_synchronous":     {"FULL"}, // NORMAL can lose commits when the power fails
	"_txlock":          {"immediate"},
	"_foreign_keys":    {"on"},
	"_busy_timeout":    {"5000"}, // while the store is opened; prepareWriter reduces it
	"_stmt_cache_size": {"64"},
}

// maxIdleWAL is the size in bytes to which SQLite truncates the WAL after a checkpoint, if a long read of
// another process has made it larger.
const maxIdleWAL = 16 << 20

// connect opens a pool and its first connection. The connection reads the file at once, because the driver
// sets PRAGMA synchronous and SQLite reads the schema for that. connect retries after SQLITE_BUSY: while
// another process switches a new file to WAL mode, SQLite returns it at once, whatever the busy_timeout is.
func connect(ctx context.Context, path string, pragmas url.Values, size int) (*sql.DB, error) {
	pool := storefile.OpenPool(path, pragmas)
	pool.SetMaxOpenConns(size)
	pool.SetMaxIdleConns(size)
	for start := time.Now(); ; time.Sleep(storefile.BusyTimeout) { //nolint:forbidigo // a duration
		err := pool.PingContext(ctx)
		if err == nil {
			return pool, nil
		}
		if storefile.Code(err) != sqlite3.ErrBusy || time.Since(start) >= storefile.LockTimeout {
			return nil, errors.Join(err, pool.Close())
		}
	}
}

// prepareWriter checks the settings that make a commit durable. It also checks that the file can be
// written, because SQLite opens a read-only file without an error.
func (d *database) prepareWriter(ctx context.Context) (err error) {
	if d.closedConn, err = d.writerPool.Conn(ctx); err != nil {
		return err
	}
	_ = d.closedConn.Close() // returns it to the pool
	if d.writer, err = d.writerPool.Conn(ctx); err != nil {
		return err
	}
	var mode string
	var synchronous int
	err = d.writer.QueryRowContext(ctx, "SELECT journal_mode, synchronous FROM pragma_journal_mode, pragma_synchronous").
		Scan(&mode, &synchronous)
	if err == nil && (mode != "wal" || synchronous < 2) {
		err = fmt.Errorf("journal_mode is %s and synchronous is %d, not wal and 2: keep the store on a local disk", mode, synchronous)
	}
	if err == nil {
		_, err = d.writer.ExecContext(ctx, fmt.Sprintf("DELETE FROM pets WHERE FALSE; PRAGMA busy_timeout = %d; PRAGMA journal_size_limit = %d",
			storefile.BusyTimeout.Milliseconds(), maxIdleWAL))
	}
	return err
}
