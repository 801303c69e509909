//go:build cgo && unix

// Package sqlite is the SQLite engine of package repository: a store is one file.
package sqlite

import (
	"context"
	"database/sql"
	"errors"
	"sync"
	"sync/atomic"
	"time"

	"github.com/mattn/go-sqlite3"
	gormsqlite "gorm.io/driver/sqlite"
	"gorm.io/gorm"

	"example.com/petstore/repository/engine"
	"example.com/petstore/repository/sqlite/internal/schema"
	"example.com/petstore/repository/sqlite/internal/storefile"
)

// New returns the engine for a store in the file at path. repository.Open may create the file. The path
// must be neither :memory: nor a URI.
func New(path string) engine.Engine { return fileEngine{path, 30 * time.Second} }

// A fileEngine implements engine.Engine.
type fileEngine struct {
	path        string
	serviceWait time.Duration // how long Open waits until another service has stopped
}

func (e fileEngine) String() string         { return e.path }
func (e fileEngine) Remedy(err error) error { return withRemedy(err, e.path) }

func (e fileEngine) Open(ctx context.Context, o engine.Options) (engine.Database, error) {
	d, err := e.open(ctx, o)
	if err != nil {
		return nil, withRemedy(err, e.path)
	}
	return d, nil
}

// A database implements engine.Database on an open file. It has one connection that writes and a pool of
// connections that read.
type database struct {
	lock       *storefile.Lock // on everybody who has the store open
	service    *storefile.Lock // nil without engine.Options.Service
	file       *storefile.File
	writerPool *sql.DB // a pool of one connection
	writer     *sql.Conn
	closedConn *sql.Conn // a closed connection, which a transaction has after its end
	readers    *sql.DB
	schema     engine.Schema
	seen       atomic.Pointer[seenVersion] // the last data_version that was read, and when
	polled     int64                       // the data_version at the last PollChanges

	mu           sync.Mutex // locked while something uses the writer, such as a transaction
	commitFailed bool       // a commit failed, and was not durably overwritten yet, see overwriteFailedCommit
	closed       bool
}

// A seenVersion is the data_version of the writer. A commit of another connection changes it.
type seenVersion struct {
	version int64
	at      time.Time
}

func (e fileEngine) open(ctx context.Context, o engine.Options) (_ *database, err error) {
	d, path := &database{}, e.path
	d.seen.Store(&seenVersion{})
	defer func() {
		if err != nil {
			err = errors.Join(err, d.Close())
		}
	}()
	if o.Service {
		if d.service, err = storefile.LockService(ctx, path, e.serviceWait); err != nil {
			return nil, err
		}
	}
	if o.Exclusive {
		d.lock, err = storefile.LockAlone(ctx, path)
	} else {
		d.lock, err = storefile.LockShared(ctx, path)
	}
	if err != nil {
		return nil, err
	}
	if err := storefile.CheckLinks(path); err != nil {
		return nil, err
	}
	if err := schema.CheckFile(ctx, path, !o.NoMigration, !o.NoMigration && !o.Exclusive); err != nil {
		return nil, err
	}
	hadWAL := storefile.HasWAL(path)
	if err := d.connect(ctx, path, o.MaxOpenConns); err != nil {
		return nil, err
	}
	if d.schema, err = schema.Migrate(ctx, d.writerPool); err != nil {
		return nil, err
	}
	if err := d.prepareWriter(ctx); err != nil {
		return nil, err
	}
	if !hadWAL {
		_ = storefile.BeginGeneration(ctx, d.writer, path) // fails on a full disk; a store can still be read there
	}
	if d.file, err = storefile.NewFile(path); err != nil {
		return nil, err
	}
	if err := d.openReaders(ctx, o.MaxOpenConns); err != nil {
		return nil, err
	}
	if err := d.look(ctx); err != nil {
		return nil, err
	}
	d.polled = d.seen.Load().version
	return d, nil
}

// connect opens the writer first, because it creates the WAL and a reader cannot.
func (d *database) connect(ctx context.Context, path string, readers int) (err error) {
	if d.writerPool, err = connect(ctx, path, writerPragmas, 1); err == nil {
		d.readers, err = connect(ctx, path, storefile.ReaderPragmas, readers)
	}
	return err
}

// openReaders opens all connections that read. Opening one later could fail: there may be no free descriptor,
// or the schema of a new store may not be readable, which SQLite reports as a missing table.
func (d *database) openReaders(ctx context.Context, size int) error {
	for range max(size, 1) {
		conn, err := d.readers.Conn(ctx)
		if err != nil {
			return err
		}
		defer func() { _ = conn.Close() }() // returns it to the pool, after all are open
		if err := storefile.ReadTables(ctx, conn); err != nil {
			return err
		}
	}
	return nil
}

func (d *database) Readers() gorm.ConnPool { return d.readers }

// ReadContext implements engine.Database. The query gets no deadline: it reads one page or one record, and
// for a deadline database/sql would start a goroutine.
func (d *database) ReadContext(ctx context.Context) (context.Context, context.CancelFunc) {
	return context.WithoutCancel(ctx), func() {}
}

func (d *database) Dialector(pool gorm.ConnPool) gorm.Dialector {
	return gormsqlite.New(gormsqlite.Config{Conn: pool})
}

// Begin implements engine.Database. It waits up to storefile.LockTimeout for the lock of another process.
func (d *database) Begin(ctx context.Context) (_ engine.Tx, err error) {
	d.mu.Lock()
	defer func() {
		if err != nil {
			d.mu.Unlock()
		}
	}()
	background := context.WithoutCancel(ctx) // database/sql would start a goroutine to watch the context
	for start := time.Now(); ; {             //nolint:forbidigo // a duration
		err := d.overwriteFailedCommit()
		if err == nil {
			_, err = d.writer.ExecContext(background, "BEGIN IMMEDIATE")
		}
		if err == nil {
			_ = d.look(background) // until COMMIT, no other process can commit
			return &tx{Conn: d.writer, database: d}, nil
		}
		if storefile.Code(err) != sqlite3.ErrBusy || time.Since(start) >= storefile.LockTimeout {
			return nil, err
		}
		select {
		case <-ctx.Done():
			return nil, ctx.Err()
		default:
		}
	}
}

// pollInterval is a bit less than 50 ms: the API promises that a response is at most 100 ms old. A cache may
// use a result of PollChanges for a pollInterval, and that result may be a pollInterval old.
const pollInterval = 45 * time.Millisecond

// PollInterval implements engine.Database.
func (*database) PollInterval() time.Duration { return pollInterval }

// PollChanges implements engine.Database. If something uses the writer, PollChanges relies on the
// data_version that was read last, such as at the beginning of the transaction. If that is a pollInterval
// old, for example because a commit is slow, it returns AllChanges: other processes may have committed. The
// end of ctx does not interrupt it.
func (d *database) PollChanges(ctx context.Context) (engine.Changes, error) {
	if d.mu.TryLock() {
		_ = d.look(context.WithoutCancel(ctx))
		d.mu.Unlock()
	}
	seen := d.seen.Load()
	changed := seen.version != d.polled || time.Since(seen.at) >= pollInterval
	d.polled = seen.version
	return engine.Changes{Added: changed, Changed: changed, Keys: changed}, nil
}

// look reads the data_version of the writer.
func (d *database) look(ctx context.Context) error {
	start := time.Now() //nolint:forbidigo // compared with an age
	var version int64
	err := d.writer.QueryRowContext(ctx, "PRAGMA data_version").Scan(&version)
	if err == nil {
		d.seen.Store(&seenVersion{version, start})
	}
	return err
}

// CheckSynchronous implements engine.Database. It returns nil, because a file has no standby.
func (d *database) CheckSynchronous(context.Context) error { return nil }

// Check implements engine.Database. It returns an error if the file or its WAL was moved, removed or replaced.
func (d *database) Check(context.Context) error { return d.file.Check() }

// LastID implements engine.Database, see sqlite.org/autoinc.html.
func (*database) LastID(ctx context.Context, pool gorm.ConnPool, table string) (id int64, err error) {
	err = pool.QueryRowContext(ctx, "SELECT coalesce(max(seq), 0) FROM sqlite_sequence WHERE name = ?", table).Scan(&id)
	return id, err
}

func (*database) SetLastID(ctx context.Context, tx engine.Tx, table string, id int64) error {
	const statements = "DELETE FROM sqlite_sequence WHERE name = ?; INSERT INTO sqlite_sequence (name, seq) VALUES (?, ?)"
	_, err := tx.ExecContext(ctx, statements, table, table, id)
	return err
}

func (d *database) Schema() engine.Schema { return d.schema }

func (d *database) Pools() map[string]*sql.DB {
	return map[string]*sql.DB{"writer": d.writerPool, "readers": d.readers}
}

// Close implements engine.Database. The last connection to a file is the writer, so SQLite writes the WAL to
// the file and removes it. It writes the WAL that is open, also if that was moved or removed, and then removes
// the one at its path. If another file or none is at the path of the store, SQLite does neither
// (databaseIsUnmoved in its source): the WAL at the path may belong to the other file.
func (d *database) Close() (err error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.closed {
		return nil
	}
	d.closed = true
	if d.writer != nil {
		_ = d.writer.Close() // returns it to the pool
	}
	for _, pool := range []*sql.DB{d.readers, d.writerPool} {
		if pool != nil {
			err = errors.Join(err, pool.Close())
		}
	}
	return errors.Join(err, d.lock.Close(), d.service.Close())
}
