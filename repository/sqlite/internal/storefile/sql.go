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
	// BusyTimeout is how long one call of SQLite waits for the lock of another process, and
	// LockTimeout how long those wait in total that repeat it.
	BusyTimeout = 30 * time.Millisecond
	LockTimeout = 5 * time.Second
	// PageKiB is the size of a page in KiB.
	PageKiB = 4
)

// The pragmas are part of the DSN, because each applies to one connection. Connections
// need no mutex of SQLite (_mutex): database/sql uses each in one goroutine at a time.
var (
	// ReaderPragmas read a file and its WAL.
	ReaderPragmas = url.Values{
		"mode":          {"ro"},
		"_mutex":        {"no"},
		"_query_only":   {"on"},
		"_busy_timeout": {"5000"},
		// Statements are cached by the driver: GORM's cache leaks those that it evicts.
		"_stmt_cache_size": {"64"},
	}
	// CheckpointPragmas are ReaderPragmas that allow checkpoints.
	CheckpointPragmas = url.Values{"mode": {"rw"}, "_mutex": {"no"}, "_query_only": {"on"}, "_busy_timeout": {"5000"}, "_stmt_cache_size": {"64"}}
	// ImmutablePragmas read a file without its WAL and without locks (sqlite.org/uri.html).
	ImmutablePragmas = url.Values{"mode": {"ro"}, "immutable": {"1"}, "_cache_size": {"-65536"}}
)

// OpenPool returns a pool of connections to a file, with pragmas. It opens none yet.
func OpenPool(path string, pragmas url.Values) *sql.DB {
	if filepath.IsAbs(path) {
		path = "//" + path // an empty authority, or a path that begins with // would have one
	}
	dsn := "file:" + (&url.URL{Path: path}).EscapedPath() + "?" + pragmas.Encode()
	pool, _ := sql.Open("sqlite3", dsn) // fails only if there is no such driver
	return pool
}

// Code returns the code of an error of SQLite, and zero for any other.
func Code(err error) sqlite3.ErrNo {
	failure, _ := errors.AsType[sqlite3.Error](err)
	return failure.Code
}
