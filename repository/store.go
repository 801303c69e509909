package repository

import (
	"context"
	"errors"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/collectors"

	"example.com/petstore/domain"
	"example.com/petstore/domain/port"
	"example.com/petstore/repository/engine"
	"example.com/petstore/repository/freshness"
	"example.com/petstore/repository/groupcommit"
)

// A Store is an open store. It is safe for concurrent use. The caller must close it.
type Store struct {
	database       engine.Database
	observeFailure func(engine.Failure) // Options.ObserveFailure, may be nil
	reads          session
	queue          *groupcommit.Queue[*transaction, *creation]
	versions       *freshness.Versions
	maxStaleness   time.Duration
	keys           *keyCache

	// The shared reads are nil if database is no engine.SharedReader.
	sharedPets      *sharedReads[engine.Rows, []int64, []domain.Pet]
	sharedOrders    *sharedReads[engine.Rows, []int64, []domain.Order]
	sharedRecording *sharedReads[struct{}, struct{}, domain.Recording]
}

// Schema returns the schema of the store. If several processes open a new store at the same time, Created is true in only
// one of them.
func (s *Store) Schema() engine.Schema { return s.database.Schema() }

// Pets reads the pets outside any transaction.
func (s *Store) Pets() port.PetReader {
	return pets{reader[domain.Pet]{s.reads, petTable, s.sharedPets}}
}

// Orders reads the orders outside any transaction.
func (s *Store) Orders() port.OrderReader {
	return orders{reader[domain.Order]{s.reads, orderTable, s.sharedOrders}}
}

// Changes reads the changes outside any transaction.
func (s *Store) Changes() port.ChangeReader {
	return changes{reader[domain.Change]{s.reads, changeTable, nil}, s.sharedRecording}
}

// MaxStaleness returns how long the Versions, and therefore cached pages, may miss a commit of another process.
func (s *Store) MaxStaleness() time.Duration { return s.versions.MaxAge(s.maxStaleness) }

// Keys reads the API keys outside any transaction. FindByHash caches what it finds.
func (s *Store) Keys() port.KeyReader { return s.keys }

// InTx implements port.Transactor. Concurrent transactions share a commit.
func (s *Store) InTx(ctx context.Context, fn func(context.Context, port.Repositories) error) error {
	return s.errorOf(s.queue.Do(ctx, func(ctx context.Context, t *transaction) error { return fn(ctx, t.repositories()) }))
}

// errorOf reports and returns the error of a transaction. For an error of the queue, it returns an ErrUnavailable.
func (s *Store) errorOf(err error) error {
	if failed, ok := errors.AsType[*groupcommit.Error](err); ok {
		err = domain.Unavailable(failed.Err)
	}
	return s.report(err)
}

// Versions returns two numbers for caches. Read them before the store: what was read is valid while they are unchanged. Each
// commit with Added increases added, and each commit with Changed increases changed (see engine.Changes), before InTx returns.
//
// On SQLite, a commit of another process increases the numbers within 100 ms. While a commit with Added or Changed of this
// process runs, each call increases added or changed, respectively. On PostgreSQL, the numbers include all commits before
// the call, or with Options.MaxStaleness all commits that are at least that old. If the query fails, Versions returns the
// last known numbers and an ErrUnavailable.
func (s *Store) Versions(ctx context.Context) (added, changed uint64, err error) {
	if err = s.versions.Refresh(ctx, s.maxStaleness); err != nil {
		err = s.report(domain.Unavailable(err))
	}
	added, changed = s.versions.Lists()
	return added, changed, err
}

// IsRemote reports whether Versions and Keys may wait for a database server.
func (s *Store) IsRemote() bool { return s.database.PollInterval() == 0 }

// VersionsAge returns how long ago the last successful check for commits of other processes began. The numbers of
// Versions may miss the commits since then (see freshness.Versions.Age). Before a check has succeeded, VersionsAge
// returns the longest Duration.
func (s *Store) VersionsAge() time.Duration { return s.versions.Age() }

// Ping runs a query. It returns an ErrUnavailable if the query fails or if a commit could be lost. The message of the error
// has the reason, but no name and no secret.
func (s *Store) Ping(ctx context.Context) error {
	err := s.database.Check(ctx)
	if err != nil {
		err = s.report(domain.Unavailable(err))
	} else {
		var ids []int64
		err = s.reads.db.WithContext(ctx).Model(&petModel{}).Limit(1).Pluck("id", &ids).Error
	}
	failure := failureOf(s.database, err)
	if failure == "" {
		return err
	}
	return &domain.Error{
		Kind: domain.ErrUnavailable, Code: domain.CodeUnavailable,
		Message: "the store is not available: " + failure.Reason(), Cause: err,
	}
}

// CheckSynchronous returns an error, for the log, if a commit on a PostgreSQL server does not wait until a standby has it, or
// if no such standby is connected. Only a user with the privileges of pg_read_all_stats, such as a member of pg_monitor, can
// see which standbys are connected: for any other user, CheckSynchronous assumes that one is.
func (s *Store) CheckSynchronous(ctx context.Context) error {
	return s.database.CheckSynchronous(ctx)
}

// report calls observeFailure if the store caused err, and returns err.
func (s *Store) report(err error) error {
	if err == nil || s.observeFailure == nil {
		return err
	}
	if failure := failureOf(s.database, err); failure != "" {
		s.observeFailure(failure)
	}
	return err
}

// Waiting returns the number of callers of InTx and CreatePets that wait for their transaction, for metrics.
func (s *Store) Waiting() int { return s.queue.Waiting() }

// Collectors returns the metrics of the connection pools. Hosts cannot use the pools themselves: the pool that writes
// has one connection, which transactions need, and which is never free on SQLite.
func (s *Store) Collectors() []prometheus.Collector {
	var all []prometheus.Collector
	for name, pool := range s.database.Pools() {
		all = append(all, collectors.NewDBStatsCollector(pool, name))
	}
	return all
}

// Close waits until the queued transactions are durable, then closes the store. It may be called again.
func (s *Store) Close() error {
	if s.queue != nil {
		s.queue.Close()
	}
	if s.versions != nil {
		s.versions.Close()
	}
	if s.sharedPets != nil {
		s.sharedPets.Close()
		s.sharedOrders.Close()
		s.sharedRecording.Close()
	}
	return s.database.Close()
}
