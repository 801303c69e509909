package repository

import (
	"context"
	"database/sql"
	"errors"
	"slices"

	"example.com/petstore/domain"
)

// A Store is an open database. It is safe for concurrent use; Close it.
type Store struct {
	readers  session
	writing  *sql.Conn
	place    place
	writer   *writer
	versions versions
	schema   schema
	errors   errorObserver
	keys     *keyCache
	pools    []*sql.DB
}

// Created reports whether Open created the store, in a file that was missing or empty.
// Of several processes that open a new store at once it is true in one.
func (s *Store) Created() bool { return s.schema.created }

// SchemaVersion returns the version of the store's schema: the number of its latest migration.
func (s *Store) SchemaVersion() int64 { return s.schema.version }

// Pets reads the catalogue, outside any transaction.
func (s *Store) Pets() domain.PetReader { return pets{session: s.readers} }

// Orders reads the orders, outside any transaction.
func (s *Store) Orders() domain.OrderReader { return orders{session: s.readers} }

// Keys reads the API keys, outside any transaction. What Find finds it keeps.
func (s *Store) Keys() domain.KeyReader { return s.keys }

// repositories are those of a transaction, which notes its effects.
func repositories(within session, e *effects) domain.Repositories {
	return domain.Repositories{
		Pets: pets{within, e}, Orders: orders{within, e}, Keys: keys{within, e}, Idempotency: &idempotency{session: within, effects: e},
	}
}

// InTx implements domain.Transactor. Concurrent acts share a commit, see writer.
func (s *Store) InTx(ctx context.Context, act func(context.Context, domain.Repositories) error) error {
	return s.errors.observe(s.writer.do(ctx, act))
}

// Versions returns two numbers for those who keep what they read. Read them, then
// the store: what was read stands as long as they do. added rises when records
// were inserted, changed when existing ones were altered, before whoever did it is
// told; what other processes commit raises both within 100 ms.
func (s *Store) Versions() (added, changed uint64) {
	return s.versions.added.Load(), s.versions.changed.Load()
}

// Ping asks the store a real question. It returns an ErrUnavailable when there is no
// answer, or one that nobody should rely on.
func (s *Store) Ping(ctx context.Context) error {
	if err := s.place.check(); err != nil {
		return s.errors.observe(domain.Unavailable(err))
	}
	_, err := read(ctx, s.readers, idOf, 1, "SELECT id FROM pets LIMIT 1")
	return err
}

// Pools are the connection pools by what they do, for those who watch them.
func (s *Store) Pools() map[string]*sql.DB {
	return map[string]*sql.DB{"writer": s.pools[0], "readers": s.pools[1]}
}

// Close ends all connections once the acts that wait are durable.
func (s *Store) Close() error {
	if s.writer != nil {
		s.writer.close()
	}
	var errs []error
	if s.writing != nil {
		if err := s.writing.Close(); !errors.Is(err, sql.ErrConnDone) { // of an earlier Close
			errs = append(errs, err)
		}
	}
	// The writer's goes last: only it may empty the WAL into the file and remove it.
	for _, pool := range slices.Backward(s.pools) {
		errs = append(errs, pool.Close())
	}
	return errors.Join(errs...)
}
