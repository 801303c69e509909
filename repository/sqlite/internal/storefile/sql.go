package storefile

import (
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
	// ImmutablePragmas read a file without its WAL and without locks (sqlite.org/uri.html).
	ImmutablePragmas = url.Values{"mode": {"ro"}, "immutable": {"1"}, "_cache_size": {"-65536"}}
)

// DSN returns the DSN of a file.
func DSN(path string, pragmas url.Values) string {
	return "file:" + (&url.URL{Path: filepath.Clean(path)}).EscapedPath() + "?" + pragmas.Encode()
}

// IsBusy reports whether another connection has a lock.
func IsBusy(err error) bool { return hasCode(err, sqlite3.ErrBusy) }

// IsCorrupt reports whether a file is damaged.
func IsCorrupt(err error) bool { return hasCode(err, sqlite3.ErrCorrupt) }

// IsNotADatabase reports whether a file has not the header of a database.
func IsNotADatabase(err error) bool { return hasCode(err, sqlite3.ErrNotADB) }

func hasCode(err error, code sqlite3.ErrNo) bool {
	failure, ok := errors.AsType[sqlite3.Error](err)
	return ok && failure.Code == code
}
