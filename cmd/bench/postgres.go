package main

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"net"
	"runtime"
	"slices"
	"time"

	_ "github.com/jackc/pgx/v5/stdlib" // registers the driver pgx

	"example.com/petstore/repository/postgres/postgrestest"
)

const (
	postgresScheme = "postgres://"
	// distance is the delay of the proxy in both directions together, as between two
	// machines of one region.
	distance = 650 * time.Microsecond
	// postgresFolder is on a disk, and accessible to the user of the server.
	postgresFolder = "/var/tmp"
)

// A postgresServer is a PostgreSQL server on serverCore, and a proxy to it that delays.
type postgresServer struct {
	*postgrestest.Server
	address, proxy string // host:port
	stopProxy      func()
	seeded         map[int]store // by the number of pets
	postgresInfo
}

// A postgresInfo describes the server for the report.
type postgresInfo struct {
	version, settings  string
	roundTrip, delayed time.Duration // of a trivial query, directly and through the proxy
}

// startPostgres starts the server of the scenarios on PostgreSQL.
func (h *harness) startPostgres(ctx context.Context) (err error) {
	// The server is stopped when the thread that starts it ends, as those of sendAtRate do.
	runtime.LockOSThread()
	ctx, stopProxy := context.WithCancel(ctx)
	pg := &postgresServer{seeded: map[int]store{}, stopProxy: stopProxy}
	if pg.address, err = freeAddress(ctx); err != nil {
		return err
	}
	_, port, err := net.SplitHostPort(pg.address)
	if err != nil {
		return err
	}
	pg.Server, err = postgrestest.StartIn(postgresFolder, "listen_addresses=127.0.0.1", "port="+port, "max_connections=200")
	if err != nil {
		return err
	}
	h.postgres = pg
	processes, err := pg.processes()
	for _, p := range processes {
		err = errors.Join(err, p.pin(serverCore))
	}
	if err != nil {
		return err
	}
	if pg.proxy, err = startProxy(ctx, pg.address, distance/2); err != nil {
		return err
	}
	return pg.inspect(ctx)
}

func (pg *postgresServer) close() error {
	pg.stopProxy()
	return pg.Close()
}

// processes returns all processes of the server.
func (pg *postgresServer) processes() ([]pid, error) {
	main := pid(pg.PID())
	children, err := main.children()
	return append(children, main), err
}

func (pg *postgresServer) inspect(ctx context.Context) (err error) {
	err = withPostgres(pg.dsn("postgres", false), func(db *sql.DB) error {
		return db.QueryRowContext(ctx, `SELECT current_setting('server_version'), string_agg(name || '=' || current_setting(name), ', ' ORDER BY name)
			FROM unnest(ARRAY['fsync', 'synchronous_commit', 'shared_buffers', 'max_connections']) AS name`).Scan(&pg.version, &pg.settings)
	})
	if err != nil {
		return err
	}
	if pg.roundTrip, err = timeRoundTrip(ctx, pg.dsn("postgres", false)); err != nil {
		return err
	}
	pg.delayed, err = timeRoundTrip(ctx, pg.dsn("postgres", true))
	return err
}

// dsn returns the connection string of a database.
func (pg *postgresServer) dsn(database string, away bool) string {
	address := pg.address
	if away {
		address = pg.proxy
	}
	return postgresScheme + "postgres@" + address + "/" + database + "?sslmode=disable&connect_timeout=10"
}

func withPostgres(dsn string, fn func(*sql.DB) error) error {
	db, err := sql.Open("pgx", dsn)
	if err != nil {
		return err
	}
	return errors.Join(fn(db), db.Close())
}

// timeRoundTrip returns the median time of a trivial query.
func timeRoundTrip(ctx context.Context, dsn string) (median time.Duration, err error) {
	took := make([]time.Duration, 300)
	err = withPostgres(dsn, func(db *sql.DB) error {
		for i := range took {
			start := time.Now()
			if _, err := db.ExecContext(ctx, "SELECT 1"); err != nil {
				return err
			}
			took[i] = time.Since(start)
		}
		return nil
	})
	slices.Sort(took)
	return took[len(took)/2], err
}

// commits returns how many batches petstore has committed in a database, which increase
// versions.added, and how many transactions all have committed.
func commits(ctx context.Context, dsn string) (batches, transactions int, err error) {
	err = withPostgres(dsn, func(db *sql.DB) error {
		return db.QueryRowContext(ctx, `SELECT added, xact_commit FROM versions, pg_stat_database WHERE datname = current_database()`).
			Scan(&batches, &transactions)
	})
	return batches, transactions, err
}

// postgresStore returns the store of a server on PostgreSQL. One to write to is a copy.
func (h *harness) postgresStore(ctx context.Context, s server) (store, error) {
	pg := h.postgres
	name := fmt.Sprintf("pets_%d", s.pets)
	var err error
	st, found := pg.seeded[s.pets]
	if !found {
		if err := pg.exec(ctx, "postgres", "CREATE DATABASE "+name+" TEMPLATE template0"); err != nil {
			return store{}, err
		}
		if st, _, err = h.seed(ctx, store{dsn: pg.dsn(name, false), postgres: true}, s.pets); err != nil {
			return store{}, err
		}
		if err := pg.exec(ctx, name, "VACUUM ANALYZE"); err != nil {
			return store{}, err
		}
		pg.seeded[s.pets] = st
	}
	if s.writes {
		written := fmt.Sprintf("written_%d", h.started)
		if err := pg.exec(ctx, "postgres", "CREATE DATABASE "+written+" TEMPLATE "+name); err != nil {
			return store{}, err
		}
		name = written
	}
	st.dsn = pg.dsn(name, s.away)
	return st, nil
}

func (pg *postgresServer) exec(ctx context.Context, database, statement string) error {
	return withPostgres(pg.dsn(database, false), func(db *sql.DB) error {
		_, err := db.ExecContext(ctx, statement)
		return err
	})
}
