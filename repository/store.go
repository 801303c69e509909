package repository

import (
	"context"
	"errors"
	"sync/atomic"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/collectors"
	"go.opentelemetry.io/otel/trace"
	"gorm.io/gorm"

	"example.com/petstore/domain"
	"example.com/petstore/internal/engine"
	"example.com/petstore/internal/freshness"
	"example.com/petstore/internal/groupcommit"
	"example.com/petstore/internal/port"
)

// A Store is an open store. It is safe for concurrent use. The caller must close it.
type Store struct {
	database       engine.Database
	observeFailure func(engine.Failure) // Options.ObserveFailure, may be nil
	readers        *readers
	pets           petReader
	orders         orderReader
	queue          *groupcommit.Queue[*transaction, port.Reads]
	checker        *freshness.Checker
	keys           *keyCache
	claimClock     claimClock // only a transaction uses it
	now            func() time.Time
	tracing        trace.TracerProvider // may be nil
	newer          atomic.Int64         // the engine.NewerSchemaError of any call, 0 if there was none
}

// Schema returns the schema of the store. If several processes open a new store at the same time, Created is true in only
// one of them.
func (s *Store) Schema() engine.Schema { return s.database.Schema() }

// Pets reads the pets outside any transaction.
func (s *Store) Pets() port.PetReader { return s.pets }

// Orders reads the orders outside any transaction.
func (s *Store) Orders() port.OrderReader { return s.orders }

// Categories reads the categories outside any transaction.
func (s *Store) Categories() port.CategoryReader { return categoryReader{s.readers} }

// Changes reads the changes outside any transaction.
func (s *Store) Changes() port.ChangeReader { return changeReader{s.readers} }

// Keys reads the API keys outside any transaction. FindByHash caches what it finds.
func (s *Store) Keys() port.KeyReader { return s.keys }

// InTx implements port.Transactor. Concurrent transactions share a commit.
func (s *Store) InTx(ctx context.Context, fn func(context.Context, port.Repositories) error, reads ...port.Reads) error {
	return s.errorOf(s.queue.Do(ctx, func(ctx context.Context, t *transaction) error { return fn(ctx, t.repositories()) }, reads...))
}

// errorOf reports and returns the error of a transaction. For an error of the queue, it returns an ErrUnavailable.
func (s *Store) errorOf(err error) error {
	if failed, ok := errors.AsType[*groupcommit.Error](err); ok {
		err = domain.Unavailable(failed.Err)
	}
	return s.report(err)
}

// Numbers returns the numbers by which a cache knows whether its entries are fresh (domain.Numbers.Validates). They include
// all commits of this process, and on PostgreSQL all commits before the call. On SQLite they include the commits of
// other processes, such as commands, within 100 ms. If the query fails, Numbers returns the last known numbers and an
// ErrUnavailable.
func (s *Store) Numbers(ctx context.Context) (domain.Numbers, error) {
	latest, err := s.checker.Now(ctx)
	if err != nil {
		err = s.report(domain.Unavailable(err))
	}
	return latest, err
}

// NumbersAge returns how long ago the last successful check for commits of other processes began. The Numbers may miss the
// commits since then (see freshness.Checker.Age). Before a check has succeeded, NumbersAge returns the longest Duration.
func (s *Store) NumbersAge() time.Duration { return s.checker.Age() }

// IsRemote reports whether reads wait for a database server.
func (s *Store) IsRemote() bool { return s.database.IsRemote() }

// Ping runs a query. It returns an ErrUnavailable if the query fails or if a commit could be lost. The message of the error
// has the reason, but no name and no secret.
func (s *Store) Ping(ctx context.Context) error {
	_, err := s.Numbers(ctx)
	if err == nil {
		err = s.readers.read(ctx, func(db *gorm.DB) error { return db.Model(&petModel{}).Limit(1).Pluck("id", new([]int64)).Error })
	}
	if err == nil {
		if err = s.database.Check(ctx); err != nil {
			err = s.report(domain.Unavailable(err))
		}
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

// usable returns an ErrUnavailable for which a read need not wait: once a call has found that a newer program has migrated
// the store, because the statements of this program might fail, or return wrong results; and with
// Options.StaleIfUnavailable, while the database does not respond.
func (s *Store) usable() error {
	err := s.checker.Failed()
	if newer := s.newer.Load(); newer != 0 {
		err = engine.NewerSchemaError(newer)
	}
	if err != nil {
		return domain.Unavailable(err)
	}
	return nil
}

// report calls observeFailure if the store caused err, and returns err.
func (s *Store) report(err error) error {
	if newer, ok := errors.AsType[engine.NewerSchemaError](err); ok {
		s.newer.Store(int64(newer))
	}
	if err == nil || s.observeFailure == nil {
		return err
	}
	if failure := failureOf(s.database, err); failure != "" {
		s.observeFailure(failure)
	}
	return err
}

// Waiting returns the number of callers of InTx that wait for their transaction, for metrics.
func (s *Store) Waiting() int { return s.queue.Waiting() }

// Collectors returns the metrics of the connection pools. Hosts cannot use the pools themselves: the pool that writes
// has one connection, which transactions need, and which is never free on SQLite.
func (s *Store) Collectors() []prometheus.Collector {
	var all []prometheus.Collector
	for name, pool := range s.database.Pools() {
		all = append(all, collectors.NewDBStatsCollector(pool, name))
	}
	r := s.readers
	return append(all, prometheus.NewCounterFunc(prometheus.CounterOpts{
		Name: "petstore_store_read_waits_total", Help: "Reads that have waited for a connection.",
	}, func() float64 { return float64(r.waits.Load()) }), prometheus.NewCounterFunc(prometheus.CounterOpts{
		Name: "petstore_store_read_wait_seconds_total", Help: "How long reads have waited for a connection.",
	}, func() float64 { return time.Duration(r.waited.Load()).Seconds() }))
}

// Close waits until the queued transactions are durable, then closes the store. It may be called again.
func (s *Store) Close() error {
	if s.queue != nil {
		s.queue.Close()
	}
	if s.checker != nil {
		s.checker.Close()
	}
	if s.keys != nil {
		s.keys.lookups.Close()
	}
	if s.pets.shared != nil {
		s.pets.shared.Close()
		s.orders.shared.Close()
	}
	return s.database.Close()
}
