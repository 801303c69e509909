//go:build cgo && unix

package storefile

import (
	"database/sql"
	"errors"
	"net/url"
	"path/filepath"
	"time"

	"github.com/mattn/go-sqlite3"
)

const (
	// BusyTimeout is how long a statement of the open writer waits for the lock of another process, and the
	// interval at which other calls are repeated. LockTimeout is how long the caller repeats a call in total.
	BusyTimeout = 30 * time.Millisecond
	LockTimeout = 5 * time.Second
	// PageKiB is the size of a page in KiB.
	PageKiB = 4
)

// The pragmas are in the DSN, because each applies to one connection. No connection needs the mutex of
// SQLite (_mutex): database/sql uses a connection in one goroutine at a time.
var (
	// ReaderPragmas are for a read-only connection to a file and its WAL.
	ReaderPragmas = url.Values{
		"mode":          {"ro"},
		"_mutex":        {"no"},
		"_query_only":   {"on"},
		"_busy_timeout": {"5000"},
		// The driver caches statements: GORM's cache leaks the statements that it evicts.
		"_stmt_cache_size": {"64"},
	}
	// ImmutablePragmas are for a connection that reads a file without its WAL and without locks
	// (sqlite.org/uri.html).
	ImmutablePragmas = url.Values{"mode": {"ro"}, "immutable": {"1"}, "_cache_size": {"-65536"}}
)

// OpenPool returns a pool of connections to a file. It opens no connection yet.
func OpenPool(path string, pragmas url.Values) *sql.DB {
	if filepath.IsAbs(path) {
		path = "//" + path // an empty authority: otherwise a path that begins with // would have one
	}
	dsn := "file:" + (&url.URL{Path: path}).EscapedPath() + "?" + pragmas.Encode()
	pool, _ := sql.Open("sqlite3", dsn) // fails only if there is no such driver
	return pool
}

// Code returns the result code of an error of SQLite. For any other error it returns zero.
func Code(err error) sqlite3.ErrNo {
	failure, _ := errors.AsType[sqlite3.Error](err)
	return failure.Code
}
