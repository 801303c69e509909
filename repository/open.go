package repository

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"go.opentelemetry.io/otel/trace"
	"golang.org/x/sync/semaphore"
	"gorm.io/gorm"
	"gorm.io/gorm/logger"

	"example.com/petstore/domain"
	"example.com/petstore/repository/engine"
	"example.com/petstore/repository/freshness"
	"example.com/petstore/repository/groupcommit"
	"example.com/petstore/repository/sqltrace"
)

// defaultMaxOpenConns is the default number of connections that read. With more, reads of 64 clients are
// slower (make bench).
const defaultMaxOpenConns = 4

// maxStaleness is the maximum of Options.MaxStaleness.
const maxStaleness = 5 * time.Second

// checkTimeout is how long a request waits for a check of the versions, or for its key, with
// Options.StaleIfUnavailable. A request that gets a stale page may wait three times: for the check
// before its key, for the key, and for the check before the page.
const checkTimeout = time.Second

// Options are the options of Open.
type Options struct {
	engine.Options
	// MaxStaleness is how long lists may miss the commits of other processes on PostgreSQL, where they
	// otherwise miss none. It is at most 5 s. SQLite does not use it.
	MaxStaleness time.Duration
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
	// text of the statement and no values. Calls of CreatePets may share a statement: its span belongs to the first of
	// them. On PostgreSQL, a query that reads share has no span.
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
	if o.MaxStaleness < 0 || o.MaxStaleness > maxStaleness {
		return nil, fmt.Errorf("the option MaxStaleness is %s: use 0s to %s", o.MaxStaleness, maxStaleness)
	}
	if o.MaxOpenConns < 0 {
		return nil, fmt.Errorf("the option MaxOpenConns is %d: use 1 or more, or 0 for %d", o.MaxOpenConns, defaultMaxOpenConns)
	}
	o.MaxOpenConns = cmp.Or(o.MaxOpenConns, defaultMaxOpenConns)
	database, err := e.Open(ctx, o.Options)
	if err != nil {
		return nil, err
	}
	s := &Store{database: database, maxStaleness: o.MaxStaleness, observeFailure: o.ObserveFailure}
	defer func() {
		if err != nil {
			err = errors.Join(err, s.Close())
		}
	}()
	pool := &readers{
		ConnPool: sqltrace.Pool(database.Readers(), o.TracerProvider), database: database,
		slots: semaphore.NewWeighted(int64(o.MaxOpenConns)), report: s.report,
	}
	db, err := gorm.Open(dialector{database.Dialector(pool), database}, &gorm.Config{
		SkipDefaultTransaction: true,
		DisableAutomaticPing:   true,
		QueryFields:            true, // SELECT * could return other columns after a migration
		TranslateError:         true,
		Logger:                 logger.Discard, // errors are returned, and a log must not contain SQL with values
		Plugins:                map[string]gorm.Plugin{pool.Name(): pool},
	})
	if err != nil {
		return nil, err
	}
	if err := checkFinished(db.WithContext(ctx)); err != nil {
		return nil, err
	}
	s.reads = session{database: database, db: db}
	if _, ok := database.(engine.SharedReader); ok {
		s.sharedPets, s.sharedOrders = petTable.sharedReads(s.reads, pool), orderTable.sharedReads(s.reads, pool)
		s.sharedRecording = newSharedReads(s.reads, pool, func(db *gorm.DB, _ struct{}, requests []struct{}) ([]domain.Recording, error) {
			recording, err := recordingOf(db)
			return slices.Repeat([]domain.Recording{recording}, len(requests)), err
		})
	}
	timeout := time.Duration(0)
	if o.StaleIfUnavailable > 0 {
		timeout = checkTimeout
	}
	s.versions = freshness.New(database, timeout)
	if s.keys, err = newKeyCache(keys{s.reads}, s.versions, o.StaleIfUnavailable); err != nil {
		return nil, err
	}
	clock := &claimClock{}
	s.queue = groupcommit.NewQueue(database, groupcommit.Options{
		Commit: s.versions.Commit, Observe: o.ObserveCommit,
	}, func(tx *groupcommit.Tx) *transaction {
		inTx := db.Session(&gorm.Session{NewDB: true, Context: context.Background()}) // with a Context, Session returns a Statement of its own
		inTx.Statement.ConnPool = sqltrace.Pool(tx, o.TracerProvider)
		return &transaction{session: session{database: database, db: inTx, tx: tx}, claimClock: clock}
	}, (*transaction).create)
	return s, nil
}

// checkFinished returns an error if the store is an unfinished copy.
func checkFinished(db *gorm.DB) error {
	var unfinished unfinishedCopyModel
	if err := db.Take(&unfinished).Error; err != nil {
		return notFoundAs(err, nil)
	}
	return engine.UnfinishedCopyError(unfinished.Source)
}
