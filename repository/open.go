package repository

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"time"

	"go.opentelemetry.io/otel/trace"
	"gorm.io/gorm"
	"gorm.io/gorm/logger"

	"example.com/petstore/domain"
	"example.com/petstore/internal/engine"
	"example.com/petstore/internal/freshness"
	"example.com/petstore/internal/groupcommit"
	"example.com/petstore/internal/port"
	"example.com/petstore/internal/sqltrace"
)

// defaultMaxOpenConns is the default number of connections that read. With more, reads of 64 clients are
// slower (make bench).
const defaultMaxOpenConns = 4

// defaultTimeout is the default of Options.Timeout.
const defaultTimeout = 10 * time.Second

// defaultSearchWindow is the default of Options.SearchWindow: as many animals as take PostgreSQL about 10 ms of a processor,
// and SQLite less.
const defaultSearchWindow = 30_000

// staleTimeout is how long a request waits for its key or for the numbers, with Options.StaleIfUnavailable.
const staleTimeout = time.Second

// Options are the options of Open.
type Options struct {
	engine.Options
	// Timeout is how long each call of the store may take: a read of a key or of a page, a check of the caches, a transaction
	// until it has begun. It is 10 s when zero.
	Timeout time.Duration
	// SearchWindow is how many animals a page of a search reads. It is 30,000 when zero.
	SearchWindow int
	// Now is the clock of the changes, time.Now when nil.
	Now func() time.Time
	// StaleIfUnavailable is how long an API key that was used before stays valid while the database is
	// unavailable, so that the service can send pages from memory.
	StaleIfUnavailable time.Duration
	// ObserveCommit, if not nil, is called after each commit, also one that failed, with the number of
	// transactions that shared it and the time it took. The time includes the wait for other processes.
	// ObserveCommit must not block.
	ObserveCommit func(batch int, took time.Duration)
	// ObserveFailure, if not nil, is called for each transaction, read and Ping that failed because of the
	// store. A commit that fails for 30 callers of InTx calls it 30 times. ObserveFailure must not block.
	ObserveFailure func(engine.Failure)
	// TracerProvider, if not nil, creates a span for each statement of a repository whose context has a span. It has the
	// text of the statement and no values. Statements that callers share have no span: those that write, those that look up
	// API keys, those that read ahead for a batch, and on PostgreSQL the queries by id.
	TracerProvider trace.TracerProvider
}

// Open opens the store of an engine. The end of ctx interrupts Open, but not the open store. The error of
// Open is one line that names the database and ends with the remedy.
func Open(ctx context.Context, e engine.Engine, o Options) (*Store, error) {
	if e == nil {
		return nil, errors.New("open the store: the engine is nil: use sqlite.New or postgres.New")
	}
	store, err := open(ctx, e, o)
	if err != nil {
		return nil, fmt.Errorf("open the store %s: %w", e, err)
	}
	return store, nil
}

func open(ctx context.Context, e engine.Engine, o Options) (_ *Store, err error) {
	if o.Exclusive {
		return nil, errors.New("the option Exclusive is for petstore copy: leave it out")
	}
	if o.Timeout < 0 {
		return nil, fmt.Errorf("the option Timeout is %s: use more than 0s, or 0s for %s", o.Timeout, defaultTimeout)
	}
	if o.MaxOpenConns < 0 {
		return nil, fmt.Errorf("the option MaxOpenConns is %d: use 1 or more, or 0 for %d", o.MaxOpenConns, defaultMaxOpenConns)
	}
	o.MaxOpenConns = cmp.Or(o.MaxOpenConns, defaultMaxOpenConns)
	database, err := e.Open(ctx, o.Options)
	if err != nil {
		return nil, err
	}
	s := &Store{database: database, observeFailure: o.ObserveFailure, now: o.Now, tracing: o.TracerProvider}
	if s.now == nil {
		s.now = time.Now //nolint:forbidigo // the default of Options.Now
	}
	timeout := cmp.Or(o.Timeout, defaultTimeout)
	defer func() {
		if err != nil {
			err = errors.Join(err, s.Close())
		}
	}()
	db, err := gorm.Open(dialector{database.Dialector(), database}, &gorm.Config{
		SkipDefaultTransaction: true,
		DisableAutomaticPing:   true,
		QueryFields:            true, // SELECT * could return other columns after a migration
		TranslateError:         true,
		Logger:                 logger.Discard, // errors are returned, and a log must not contain SQL with values
	})
	if err != nil {
		return nil, err
	}
	db.Statement.ConnPool = sqltrace.Pool(db.ConnPool, o.TracerProvider)
	source, err := engine.UnfinishedCopyOf(db.WithContext(ctx))
	if err == nil && source != "" {
		err = engine.UnfinishedCopyError(source)
	}
	if err != nil {
		return nil, err
	}
	s.readers = newReaders(db, database.IsRemote(), o.MaxOpenConns, timeout, s.usable, s.report)
	s.pets.reader = reader[domain.Pet]{readers: s.readers, table: petTable, window: cmp.Or(o.SearchWindow, defaultSearchWindow)}
	s.orders.reader = reader[domain.Order]{readers: s.readers, table: orderTable}
	ofRequests := s.readers // what a request with StaleIfUnavailable does not wait for
	if o.StaleIfUnavailable > 0 {
		ofRequests = s.readers.within(min(timeout, staleTimeout))
	}
	if database.IsRemote() {
		s.pets.shared, s.orders.shared = s.pets.newGroup(), s.orders.newGroup()
	}
	s.checker = freshness.New(database, ofRequests.timeout, o.StaleIfUnavailable == 0)
	if s.keys, err = newKeyCache(ofRequests, o.StaleIfUnavailable); err != nil {
		return nil, err
	}
	s.queue = groupcommit.NewQueue(database, groupcommit.Options[*transaction, port.Reads]{
		Timeout: timeout, New: s.newTransaction, Observe: o.ObserveCommit,
	})
	return s, nil
}
