// Package postgres is the PostgreSQL engine of a store, which is a schema of a database. Any
// number of processes on any number of machines may share it.
package postgres

import (
	"context"
	"database/sql"
	"errors"
	"sync/atomic"

	gormpostgres "gorm.io/driver/postgres"
	"gorm.io/gorm"

	"example.com/petstore/internal/engine"
)

// New returns the engine for a store in a database of PostgreSQL 14 or newer. dsn is a connection string,
// either postgres://user:password@host:5432/database or keywords with values
// (postgresql.org/docs/current/libpq-connect.html). The store is in the first schema of the search_path.
// The environment variables of libpq, such as PGPASSWORD, apply.
//
// If dsn has several hosts, connections are made to the host that accepts writes. petstore.New rejects a connection
// pool such as PgBouncer.
func New(dsn string) engine.Engine { return serverEngine{dsn} }

// A serverEngine implements engine.Engine.
type serverEngine struct{ dsn string }

func (e serverEngine) String() string       { return nameOf(e.dsn) }
func (serverEngine) Remedy(err error) error { return withRemedy(err) }

func (e serverEngine) Open(ctx context.Context, o engine.Options) (engine.Database, error) {
	d, err := open(ctx, e.dsn, o)
	if err != nil {
		return nil, withRemedy(err)
	}
	return d, nil
}

var (
	errNotSynchronous = errors.New("a commit does not wait for a standby, and can be lost in a failover: set synchronous_standby_names of the server")
	errNoStandby      = errors.New("no synchronous standby is connected, so each commit waits for one: start it")
)

// A database implements engine.Database on an open store. It has a connection that writes, a connection
// that checks for commits of other processes, and a pool of connections that read.
type database struct {
	writer  *sql.DB // a pool of one connection
	checker *sql.DB // a pool of one connection
	readers *readerPool
	schema  engine.Schema
	notices *notices // the warnings of the connection that writes

	requireSynchronous bool

	polled polled
	epoch  atomic.Uint64 // incremented when Poll has connected again
}

func open(ctx context.Context, dsn string, o engine.Options) (_ *database, err error) {
	config, err := parseDSN(dsn)
	if err != nil {
		return nil, err
	}
	d := &database{notices: &notices{}, requireSynchronous: o.RequireSynchronous}
	defer func() {
		if err != nil {
			err = errors.Join(err, d.Close())
		}
	}()
	if d.schema, err = prepare(ctx, config, o); err != nil {
		return nil, err
	}
	d.writer, d.checker = openWriter(config, d.notices, o.Exclusive), openChecker(config)
	if d.readers = (&readerPool{d.writer, 1, &d.epoch}); !o.Exclusive {
		d.readers = openReaders(config, o.MaxOpenConns+1, &d.epoch)
	}
	var pets int
	if err := d.readers.QueryRowContext(ctx, "SELECT count(*) FROM (SELECT id FROM pets LIMIT 1) AS first").Scan(&pets); err != nil {
		return nil, err
	}
	tx, err := d.begin(ctx, nil) // this user may have no permission to write
	if errors.Is(err, errNotSynchronous) {
		return d, nil // the store can still be read, and becomes available with a standby
	}
	if err != nil {
		return nil, err
	}
	return d, tx.Rollback()
}

func (d *database) Dialector() gorm.Dialector {
	return gormpostgres.New(gormpostgres.Config{Conn: d.readers})
}

func (*database) IsRemote() bool { return true }

// Check implements engine.Database. The server does not acknowledge a commit that it could lose itself, so
// without RequireSynchronous Check returns nil. With it, Check returns an error if a commit does not wait
// for a standby. While no standby is connected, commits wait and are not lost, so Check returns nil.
func (d *database) Check(ctx context.Context) error {
	if !d.requireSynchronous {
		return nil
	}
	if err := d.CheckSynchronous(ctx); !errors.Is(err, errNoStandby) {
		return err
	}
	return nil
}

// CheckSynchronous implements engine.Database. checkServer has checked that synchronous_commit is at least
// on. The values of pg_stat_replication are visible only to users with the privileges of pg_read_all_stats;
// for any other user, CheckSynchronous assumes that a standby is connected.
func (d *database) CheckSynchronous(ctx context.Context) error {
	rows, err := d.readers.QueryContext(ctx, `SELECT current_setting('synchronous_standby_names') <> '',
		NOT pg_has_role('pg_read_all_stats', 'USAGE') OR EXISTS (SELECT FROM pg_stat_replication WHERE sync_state IN ('sync', 'quorum'))`)
	if err != nil {
		return err
	}
	defer func() { _ = rows.Close() }() // rows.Err has the error
	var waits, connected bool
	if rows.Next() {
		err = rows.Scan(&waits, &connected)
	}
	switch err = errors.Join(err, rows.Err()); {
	case err != nil:
		return err
	case !waits:
		return errNotSynchronous
	case !connected:
		return errNoStandby
	}
	return nil
}

func (d *database) Schema() engine.Schema { return d.schema }

func (d *database) Pools() map[string]*sql.DB {
	return map[string]*sql.DB{"writer": d.writer, "checker": d.checker, "readers": d.readers.DB}
}

func (d *database) Close() error {
	if d.writer == nil { // open has failed before
		return nil
	}
	return errors.Join(d.readers.Close(), d.checker.Close(), d.writer.Close())
}
