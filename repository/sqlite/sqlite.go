//go:build cgo && unix

// Package sqlite is the SQLite engine of a store, which is one file.
package sqlite

import (
	"context"
	"database/sql"
	"errors"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/mattn/go-sqlite3"
	gormsqlite "gorm.io/driver/sqlite"
	"gorm.io/gorm"

	"example.com/petstore/internal/engine"
	"example.com/petstore/internal/sqlite/schema"
	"example.com/petstore/internal/sqlite/storefile"
)

// New returns the engine for a store in the file at path. petstore.New may create the file. The path
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
	seen       atomic.Pointer[seen] // what was read last
	polled     int64                // the data_version at the last Poll

	mu           sync.Mutex // locked while something uses the writer, such as a transaction
	commitFailed bool       // a commit failed, and was not durably overwritten yet, see overwriteFailedCommit
	closed       bool
}

// A seen is what the writer has read at a time. A commit of another connection changes the data_version. While the
// writer has the lock, there can be none.
type seen struct {
	version int64
	state   engine.State
	at      time.Time
	locked  bool
}

func (e fileEngine) open(ctx context.Context, o engine.Options) (_ *database, err error) {
	d, path := &database{}, e.path
	d.seen.Store(&seen{})
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
	if err := d.connect(ctx, path, o.MaxOpenConns+1); err != nil {
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
	if err := d.openReaders(ctx, o.MaxOpenConns+1); err != nil {
		return nil, err
	}
	if err := d.look(ctx, false); err != nil {
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

func (*database) IsRemote() bool { return false }

func (d *database) Dialector() gorm.Dialector {
	return gormsqlite.New(gormsqlite.Config{Conn: d.readers})
}

// Begin implements engine.Database. It waits up to storefile.LockTimeout for the lock of another process.
func (d *database) Begin(ctx context.Context, ahead func() ([]engine.Query, func())) (_ engine.Tx, err error) {
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
			if err := d.look(background, true); err != nil {
				_, _ = d.writer.ExecContext(background, "ROLLBACK")
				return nil, err
			}
			t := &tx{Conn: d.writer, database: d, state: d.seen.Load().state}
			if ahead != nil {
				if err := t.readAhead(ahead()); err != nil {
					return nil, err
				}
			}
			return t, nil
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

// Poll implements engine.Database. While something uses the writer, Poll relies on what it has read last. If it does not
// have the lock, for example because it waits for another process, that may be too old. The end of ctx does not
// interrupt Poll.
func (d *database) Poll(ctx context.Context) (engine.State, bool, error) {
	if d.mu.TryLock() {
		err := d.look(context.WithoutCancel(ctx), false)
		d.mu.Unlock()
		if err != nil {
			return engine.State{}, false, err
		}
	}
	last := d.seen.Load()
	others := last.version != d.polled || !last.locked && time.Since(last.at) >= engine.PollInterval
	d.polled = last.version
	return last.state, others, nil
}

// look reads the data_version and the state.
func (d *database) look(ctx context.Context, locked bool) error {
	read := &seen{at: time.Now(), locked: locked} //nolint:forbidigo // compared with an age
	err := d.writer.QueryRowContext(ctx, "SELECT data_version, "+engine.StateColumns+" FROM store, pragma_data_version").
		Scan(append([]any{&read.version}, read.state.Fields()...)...)
	if err == nil {
		err = read.state.CheckSchema()
	}
	if err == nil {
		d.seen.Store(read)
	}
	return err
}

// CheckSynchronous implements engine.Database. It returns nil, because a file has no standby.
func (d *database) CheckSynchronous(context.Context) error { return nil }

// Check implements engine.Database. It returns an error if the file or its WAL was moved, removed or replaced.
func (d *database) Check(context.Context) error { return d.file.Check() }

// CheckIntegrity implements engine.Database (sqlite.org/pragma.html). The schema of a store has no foreign keys.
func (d *database) CheckIntegrity(ctx context.Context) (damage []string, _ string, err error) {
	rows, err := d.readers.QueryContext(ctx, "PRAGMA integrity_check")
	if err != nil {
		return nil, "", err
	}
	defer func() { _ = rows.Close() }() // rows.Err has the error
	for rows.Next() {
		var line string
		if err := rows.Scan(&line); err != nil {
			return nil, "", err
		}
		if line != "ok" {
			damage = append(damage, "the file is damaged ("+strings.ReplaceAll(line, "\n", " ")+"): restore a backup that is intact")
		}
	}
	return damage, "", rows.Err()
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
