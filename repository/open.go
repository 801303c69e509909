package repository

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"time"

	"go.opentelemetry.io/otel/trace"
	"golang.org/x/sync/semaphore"
	"gorm.io/gorm"
	"gorm.io/gorm/logger"
)

// defaultMaxOpenConns is the default number of connections that read
// (docs/performance.md).
const defaultMaxOpenConns = 4

// Options are the options of Open.
type Options struct {
	// Migrate allows Open to create the store and to migrate its schema. Without it,
	// Open rejects a store that does not exist or has an older schema.
	Migrate bool
	// MustExist makes Open reject a store that does not exist, even with Migrate.
	MustExist bool
	// MaxOpenConns is the number of connections that read, 4 when zero.
	MaxOpenConns int
	// MaxStaleness is for how long caches may miss the commits of other processes on an
	// engine on which they would otherwise miss none: PostgreSQL.
	MaxStaleness time.Duration
	// RequireSynchronous makes transactions and Ping return an ErrUnavailable while a commit
	// would not wait for a standby of a PostgreSQL server. Open succeeds.
	RequireSynchronous bool
	// ObserveCommit, if not nil, is called after each commit with the number of
	// transactions that shared it and the time it took, including the wait for other
	// processes. It must not block.
	ObserveCommit func(batch int, took time.Duration)
	// ObserveError, if not nil, is called with the kind of error, one of ErrorKinds, of each
	// transaction, read and Ping that failed because of the store: a commit that fails for
	// 30 callers of InTx calls it 30 times. It must not block.
	ObserveError func(kind string)
	// TracerProvider, if not nil, creates a span for each statement. The span has the text
	// of the statement, never a value.
	TracerProvider trace.TracerProvider
}

// Open opens the store of an engine. The end of ctx interrupts Open, not the open store. Its
// error is one line that names the database and ends with the remedy.
func Open(ctx context.Context, engine Engine, o Options) (*Store, error) {
	store, err := open(ctx, engine, o)
	if err != nil {
		return nil, fmt.Errorf("open the store %s: %w", engine, err)
	}
	return store, nil
}

func open(ctx context.Context, engine Engine, o Options) (_ *Store, err error) {
	size := cmp.Or(max(o.MaxOpenConns, 0), defaultMaxOpenConns)
	database, err := engine.Open(ctx, EngineOptions{
		Migrate: o.Migrate, MustExist: o.MustExist, MaxOpenConns: size, RequireSynchronous: o.RequireSynchronous,
	})
	if err != nil {
		return nil, err
	}
	database = traced(database, o.TracerProvider)
	s := &Store{database: database, observeError: o.ObserveError}
	defer func() {
		if err != nil {
			err = errors.Join(err, s.Close())
		}
	}()
	if err := checkFinished(ctx, database.Readers()); err != nil {
		return nil, err
	}
	db, err := gorm.Open(database.Dialector(database.Readers()), &gorm.Config{
		SkipDefaultTransaction: true,
		DisableAutomaticPing:   true,
		Logger:                 logger.Discard, // errors are returned; SQL with values belongs in no log
	})
	if err != nil {
		return nil, err
	}
	s.readers = session{
		db: db, pool: db.ConnPool, database: database, report: s.report,
		readSlots: semaphore.NewWeighted(int64(size)),
	}
	if database.Exact() {
		s.versions.refresher = &refresher{database: database, versions: &s.versions, maxStaleness: o.MaxStaleness}
	}
	if s.keys, err = newKeyCache(keys{session: s.readers}, &s.versions); err != nil {
		return nil, err
	}
	if s.writer, err = newWriter(database, db, &s.versions, o.ObserveCommit); err != nil {
		return nil, err
	}
	return s, nil
}
