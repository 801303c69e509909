package repository

import (
	"context"
	"database/sql"

	"example.com/petstore/domain"
)

// A Store is an open store. It is safe for concurrent use. The caller must close it.
type Store struct {
	database     Database
	observeError func(kind string) // nil for none
	readers      session
	writer       *writer
	versions     versions
	keys         *keyCache
}

// Schema returns the schema of the store. Created is true in only one of several processes
// that open a new store at the same time.
func (s *Store) Schema() Schema { return s.database.Schema() }

// Pets reads the pets outside any transaction.
func (s *Store) Pets() domain.PetReader { return pets{session: s.readers} }

// Orders reads the orders outside any transaction.
func (s *Store) Orders() domain.OrderReader { return orders{session: s.readers} }

// Keys reads the API keys outside any transaction. FindByHash caches what it finds.
func (s *Store) Keys() domain.KeyReader { return s.keys }

// InTx implements domain.Transactor. Concurrent transactions share a commit.
func (s *Store) InTx(ctx context.Context, fn func(context.Context, domain.Repositories) error) error {
	return s.report(s.writer.do(ctx, fn))
}

// Versions returns two numbers for caches. Read them before the store: what was read is
// valid while they are unchanged. added increases when records are inserted, changed when
// records are updated, both before InTx returns. The commits of other processes increase
// them within 100 ms on SQLite. On PostgreSQL the numbers include all commits before the
// call, or before Options.MaxStaleness; an ErrUnavailable means that they are not known.
func (s *Store) Versions(ctx context.Context) (added, changed uint64, err error) {
	err = s.report(s.versions.refresh(ctx))
	return s.versions.added.Load(), s.versions.changed.Load(), err
}

// Ping runs a query. It returns an ErrUnavailable when the query fails, or when a commit
// could be lost. Its message has the reason, without a name or a secret.
func (s *Store) Ping(ctx context.Context) error {
	if err := s.database.Check(ctx); err != nil {
		return withReason(s.database, s.report(domain.Unavailable(err)))
	}
	_, err := query(ctx, s.readers, scanID, 1, "SELECT id FROM pets LIMIT 1")
	return withReason(s.database, err)
}

// CheckSynchronous returns an error, for the log, if a commit on a PostgreSQL server does
// not wait until a standby has it, or if no such standby is connected. A user that may not
// read pg_stat_replication (pg_read_all_stats, as pg_monitor has) cannot see the latter.
func (s *Store) CheckSynchronous(ctx context.Context) error {
	return s.database.CheckSynchronous(ctx)
}

// report calls observeError if the store caused err, and returns err.
func (s *Store) report(err error) error {
	if err == nil || s.observeError == nil {
		return err
	}
	if kind := errorKind(s.database, err); kind != "" {
		s.observeError(kind)
	}
	return err
}

// Waiting returns the number of callers of InTx that wait for their transaction, for metrics.
func (s *Store) Waiting() int { return int(s.writer.waiting.Load()) }

// Pools returns the connection pools by name, for metrics.
func (s *Store) Pools() map[string]*sql.DB { return s.database.Pools() }

// Close waits until the queued transactions are durable, then closes the store.
func (s *Store) Close() error {
	if s.writer != nil {
		s.writer.close()
	}
	return s.database.Close()
}
