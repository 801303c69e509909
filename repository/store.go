package repository

import (
	"context"
	"database/sql"

	"example.com/petstore/domain"
)

// A Store is an open store. It is safe for concurrent use. Close it.
type Store struct {
	database     Database
	observeError func(kind string) // nil for none
	readers      session
	writer       *writer
	versions     versions
	keys         *keyCache
}

// Created reports whether Open created the store. Of several processes that open a new
// store at once it is true in one.
func (s *Store) Created() bool { return s.database.Schema().Created }

// SchemaVersion returns the number of the latest migration of the store's schema.
func (s *Store) SchemaVersion() int64 { return s.database.Schema().Version }

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

// Versions returns two numbers for caches. Read them, then the store: what was read is
// valid as long as they are the same. added rises when records were inserted, changed
// when records were updated, before the caller who did it gets the result; the
// commits of other processes raise both within 100 ms.
func (s *Store) Versions() (added, changed uint64) {
	return s.versions.added.Load(), s.versions.changed.Load()
}

// Ping runs a query. It returns an ErrUnavailable when the query fails, or when what is
// written now could be lost.
func (s *Store) Ping(ctx context.Context) error {
	if err := s.database.Check(); err != nil {
		return s.report(domain.Unavailable(err))
	}
	_, err := query(ctx, s.readers, scanID, 1, "SELECT id FROM pets LIMIT 1")
	return err
}

// report calls the observer of errors, if the store failed, and returns err.
func (s *Store) report(err error) error {
	if err == nil || s.observeError == nil {
		return err
	}
	if kind := errorKind(s.database, err); kind != "" {
		s.observeError(kind)
	}
	return err
}

// Pools returns the connection pools by what they do, for metrics.
func (s *Store) Pools() map[string]*sql.DB { return s.database.Pools() }

// Close closes the store once the queued transactions are durable.
func (s *Store) Close() error {
	if s.writer != nil {
		s.writer.close()
	}
	return s.database.Close()
}
