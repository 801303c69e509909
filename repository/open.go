package repository

import (
	"cmp"
	"context"
	"database/sql"
	"errors"
	"fmt"
	"io/fs"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"time"

	"golang.org/x/sync/semaphore"
	gormsqlite "gorm.io/driver/sqlite"
	"gorm.io/gorm"
	"gorm.io/gorm/logger"
)

// SQLite is the driver that keeps the store in one file.
const SQLite = "sqlite"

// Options say which store to open.
type Options struct {
	// Driver is SQLite, also when empty.
	Driver string
	// DSN names the database: for SQLite the path of its file.
	DSN string
	// Migrate lets Open create the store and bring its schema up to date. Without
	// it, Open refuses a store that is missing or old. A new file is readable and
	// writable by its owner alone.
	Migrate bool
	// MustExist has Open refuse a store that is missing even so. An empty file is no store.
	MustExist bool
	// MaxOpenConns is the number of connections that read, 4 when zero.
	MaxOpenConns int
	// ObserveCommit, where given, is told of each commit how many acts shared it and
	// how long it took, waiting for other processes included. It must return at once.
	ObserveCommit func(acts int, took time.Duration)
	// ObserveError, where given, is called with the kind of error, one of ErrorKinds, of
	// each transaction, read and Ping that failed by the store's fault: a commit that
	// fails for 30 callers of InTx calls it 30 times. It must return at once.
	ObserveError func(kind string)
	// Plugins of GORM see every statement of the repositories, in transactions and out of
	// them; for traces.
	Plugins []gorm.Plugin
}

// applicationID marks a SQLite file as a store, see migrations/sqlite.
const applicationID = 1885697139

// Open opens the store, ready for use. Its error is one line that names the
// database and the remedy; a store that Open refuses is left as it was.
func Open(ctx context.Context, o Options) (*Store, error) {
	if o.Driver != SQLite && o.Driver != "" {
		return nil, fmt.Errorf("there is no database driver %q: use %q", o.Driver, SQLite)
	}
	store, err := openSQLite(ctx, o)
	if err != nil {
		return nil, fmt.Errorf("open the store %s: %w", o.DSN, remedy(err, o.DSN))
	}
	return store, nil
}

func openSQLite(ctx context.Context, o Options) (_ *Store, err error) {
	if err := checkFile(ctx, o); err != nil {
		return nil, err
	}
	s := &Store{errors: o.ObserveError}
	defer func() {
		if err != nil {
			err = errors.Join(err, s.Close())
		}
	}()
	// The writer comes first: it makes the files that a reader needs but may not make.
	single, err := s.pool(ctx, sqliteDSN(o.DSN, writerPragmas), 1)
	if err != nil {
		return nil, err
	}
	if s.schema, err = migrate(ctx, single, o.Migrate); err != nil {
		return nil, err
	}
	if s.writing, err = single.Conn(ctx); err != nil {
		return nil, err
	}
	if s.place, err = newPlace(o.DSN); err != nil {
		return nil, err
	}
	db, err := orm(s.writing)
	if err != nil {
		return nil, err
	}
	if err := checkWriter(ctx, db); err != nil {
		return nil, err
	}
	size := cmp.Or(max(o.MaxOpenConns, 0), 4) // the best of those measured; the default, a connection a request, is the worst
	several, err := s.pool(ctx, sqliteDSN(o.DSN, readerPragmas), size)
	if err != nil {
		return nil, err
	}
	readers, err := orm(several)
	if err != nil {
		return nil, err
	}
	s.readers = session{db: readers, turns: semaphore.NewWeighted(int64(size)), errors: s.errors}
	for _, plugin := range o.Plugins {
		if err := errors.Join(db.Use(plugin), readers.Use(plugin)); err != nil {
			return nil, err
		}
	}
	if s.keys, err = newKeyCache(keys{session: s.readers}, &s.versions); err != nil {
		return nil, err
	}
	if s.writer, err = newWriter(db, s.writing, s.place, &s.versions, o.ObserveCommit); err != nil {
		return nil, err
	}
	return s, s.Ping(ctx)
}

// pool opens connections to a database and remembers them for Close.
func (s *Store) pool(ctx context.Context, dsn string, size int) (*sql.DB, error) {
	pool, err := sql.Open("sqlite3", dsn)
	if err != nil {
		return nil, err
	}
	s.pools = append(s.pools, pool)
	if err := connect(ctx, pool); err != nil {
		return nil, err
	}
	pool.SetMaxOpenConns(size)
	pool.SetMaxIdleConns(size)
	return pool, nil
}

// orm is GORM on a connection or a pool of them.
func orm(conn gorm.ConnPool) (*gorm.DB, error) {
	return gorm.Open(gormsqlite.New(gormsqlite.Config{Conn: conn}), &gorm.Config{
		SkipDefaultTransaction: true,
		Logger:                 logger.Discard, // errors are returned; SQL with values belongs in no log
	})
}

// connect makes the first connection. While another process turns a new file to
// WAL, SQLite answers busy at once, whatever the busy_timeout.
func connect(ctx context.Context, pool *sql.DB) error {
	for waited := time.Duration(0); ; waited += lockWait {
		err := pool.PingContext(ctx)
		if !isBusy(err) || waited >= lockPatience {
			return err
		}
		time.Sleep(lockWait)
	}
}

// Each pragma holds for one connection, so all of them stand in the DSN. SQLite's
// own mutexes (_mutex) only repeat that database/sql gives a connection to one
// goroutine at a time.
var (
	writerPragmas = url.Values{
		"mode":          {"rw"}, // never create the file: that is checkFile's
		"_mutex":        {"no"},
		"_journal_mode": {"WAL"},
		"_synchronous":  {"FULL"}, // NORMAL loses acknowledged commits in a power cut
		"_txlock":       {"immediate"},
		"_foreign_keys": {"on"},
		"_busy_timeout": {"5000"},
		// Statements are kept by the driver: GORM's own cache leaks what it evicts.
		"_stmt_cache_size": {"64"},
	}
	readerPragmas = url.Values{
		"mode":             {"ro"},
		"_mutex":           {"no"},
		"_query_only":      {"on"},
		"_busy_timeout":    {"5000"},
		"_stmt_cache_size": {"64"},
	}
)

func sqliteDSN(path string, pragmas url.Values) string {
	return "file:" + (&url.URL{Path: filepath.Clean(path)}).EscapedPath() + "?" + pragmas.Encode()
}

// checkFile refuses what is no store before anything is written to it, and creates
// the file of a new one.
func checkFile(ctx context.Context, o Options) error {
	if o.DSN == "" || o.DSN == ":memory:" || strings.HasPrefix(o.DSN, "file:") {
		return errors.New("the DSN of a SQLite store is the path of a file, not :memory: nor a URI")
	}
	info, err := statOrCreate(o)
	if err != nil {
		return err
	}
	if !info.Mode().IsRegular() {
		return errors.New("it is not a regular file: name the file that holds the store")
	}
	return checkOwner(ctx, o)
}

// creating is held while a file is looked for and created: to close a file ends all
// locks of this process on it, so no connection may have it open by then
// (sqlite.org/howtocorrupt.html, section 2.2).
var creating sync.Mutex

// statOrCreate describes the file of a store. One that is missing is created where
// the options let it be.
func statOrCreate(o Options) (fs.FileInfo, error) {
	creating.Lock()
	defer creating.Unlock()
	info, err := os.Stat(o.DSN)
	if !errors.Is(err, fs.ErrNotExist) {
		return info, err
	}
	if o.MustExist || !o.Migrate {
		return nil, errors.New("there is no such file: correct the path, or run petstore migrate up")
	}
	if err := createFile(o.DSN); err != nil {
		return nil, err
	}
	return os.Stat(o.DSN)
}

// createFile creates an empty file that its owner alone may read and write, whatever
// the umask. SQLite gives the files beside it the same mode. A file that another
// process has created meanwhile is as good.
func createFile(path string) error {
	if err := checkFolder(filepath.Dir(path)); err != nil {
		return err
	}
	file, err := os.OpenFile(path, os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o600) //nolint:gosec // the operator names the file
	if errors.Is(err, fs.ErrExist) {
		if _, err := os.Stat(path); errors.Is(err, fs.ErrNotExist) {
			return errors.New("it is a symbolic link to a file that does not exist: correct the link")
		}
		return nil
	}
	if err != nil {
		return err
	}
	return errors.Join(file.Chmod(0o600), file.Close())
}

func checkFolder(folder string) error {
	info, err := os.Stat(folder)
	if err == nil && info.IsDir() {
		return nil
	}
	return fmt.Errorf("there is no folder %s: create it", folder)
}

// checkOwner looks into the file through a connection that sets nothing: the
// writer's would already turn another program's database into WAL mode.
func checkOwner(ctx context.Context, o Options) (err error) {
	pool, err := sql.Open("sqlite3", sqliteDSN(o.DSN, url.Values{"mode": {"rw"}, "_busy_timeout": {"5000"}}))
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, pool.Close()) }()

	var id, tables int
	// One statement, so that a store that another process makes now is seen whole or not at all.
	err = pool.QueryRowContext(ctx, `SELECT application_id, (SELECT count(*) FROM sqlite_schema
		WHERE name NOT LIKE 'sqlite_%' AND name NOT LIKE 'goose_%') FROM pragma_application_id`).Scan(&id, &tables)
	if err != nil {
		return err
	}
	switch {
	case id == applicationID:
		return checkSchema(ctx, pool, o.Migrate)
	case id != 0 || tables != 0:
		return errors.New("it is the database of another program: name a file of petstore's own")
	case o.MustExist || !o.Migrate:
		return errors.New("there is no store in it yet: run petstore migrate up")
	}
	return nil
}

// checkWriter asserts what the promise of a 201 rests on. It writes, though nothing,
// because SQLite opens a file that it may only read without a word.
func checkWriter(ctx context.Context, writer *gorm.DB) error {
	return writer.WithContext(ctx).Transaction(func(tx *gorm.DB) error {
		var mode string
		var synchronous int
		err := tx.Raw("SELECT journal_mode, synchronous FROM pragma_journal_mode, pragma_synchronous").
			Row().Scan(&mode, &synchronous)
		if err != nil {
			return err
		}
		if err := tx.Exec("DELETE FROM pets WHERE FALSE").Error; err != nil {
			return err
		}
		if mode != "wal" || synchronous < 2 {
			return fmt.Errorf("journal_mode is %s and synchronous is %d, not wal and 2: keep the store on a local disk", mode, synchronous)
		}
		return nil
	})
}
