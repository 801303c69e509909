package repository

import (
	"cmp"
	"context"
	"sync/atomic"
	"time"

	"golang.org/x/sync/semaphore"
	"gorm.io/gorm"

	"example.com/petstore/domain"
	"example.com/petstore/internal/batch"
)

// readers let reads wait for a connection, until their deadline or the end of their context. Unlike in database/sql, the
// read that has waited longest gets the next connection.
type readers struct {
	db      *gorm.DB            // on the connections that read
	remote  bool                // see engine.Database.IsRemote
	timeout time.Duration       // of each read
	slots   *semaphore.Weighted // one for each connection
	each    *semaphore.Weighted // for the connection of each
	search  *semaphore.Weighted // for one search at a time
	usable  func() error        // an error that each read returns
	report  func(error) error   // called with the error of each read

	waits  *atomic.Int64 // how many reads have waited for a connection, or for a search
	waited *atomic.Int64 // how long they have waited together, in nanoseconds
}

func newReaders(db *gorm.DB, remote bool, size int, timeout time.Duration, usable func() error, report func(error) error) *readers {
	return &readers{
		db: db, remote: remote, timeout: timeout, usable: usable, report: report,
		slots: semaphore.NewWeighted(int64(size)), each: semaphore.NewWeighted(1),
		search: semaphore.NewWeighted(1), waits: new(atomic.Int64), waited: new(atomic.Int64),
	}
}

// within returns readers of the same connections, whose reads take at most a timeout.
func (r *readers) within(timeout time.Duration) *readers {
	shorter := *r
	shorter.timeout = timeout
	return &shorter
}

// read calls fn with GORM on a connection that reads. The whole call takes at most the timeout.
func (r *readers) read(ctx context.Context, fn func(*gorm.DB) error) error {
	return r.report(r.run(ctx, r.deadline(ctx), fn))
}

// readSearch is read for a search. Searches wait for each other, so that other reads do not wait for many of them.
func (r *readers) readSearch(ctx context.Context, fn func(*gorm.DB) error) error {
	deadline := r.deadline(ctx)
	if err := r.acquire(ctx, deadline, r.search); err != nil {
		return r.report(domain.Unavailable(err))
	}
	defer r.search.Release(1)
	return r.report(r.run(ctx, deadline, fn))
}

// share calls do, which waits for a run of a batch.
func (r *readers) share(do func() error) error {
	if err := r.usable(); err != nil {
		return r.report(err)
	}
	return r.report(translate(r.db, do()))
}

// deadline returns the deadline of a call that begins now.
func (r *readers) deadline(ctx context.Context) time.Time { return batch.Deadline(ctx, r.timeout) }

// run calls fn with GORM on a connection that reads, until a deadline.
func (r *readers) run(ctx context.Context, deadline time.Time, fn func(*gorm.DB) error) error {
	if err := r.acquire(ctx, deadline, r.slots); err != nil {
		return domain.Unavailable(err)
	}
	defer r.slots.Release(1)
	ctx = context.WithoutCancel(ctx) // pgx would close the connection of an interrupted query
	if r.remote {                    // on a file, a read is short, and for a deadline database/sql would start a goroutine
		var cancel context.CancelFunc
		ctx, cancel = context.WithDeadline(ctx, deadline)
		defer cancel()
	}
	return fn(r.db.WithContext(ctx))
}

// acquire waits for a connection or for a search, until a deadline and until ctx ends.
func (r *readers) acquire(ctx context.Context, deadline time.Time, slots *semaphore.Weighted) error {
	if err := cmp.Or(ctx.Err(), r.usable()); err != nil || slots.TryAcquire(1) {
		return err
	}
	start := time.Now() //nolint:forbidigo // a duration
	r.waits.Add(1)
	defer func() { r.waited.Add(int64(time.Since(start))) }()
	ctx, cancel := context.WithDeadline(ctx, deadline)
	defer cancel()
	return slots.Acquire(ctx, 1)
}

// readAll is read for a query of a whole table, which may take any time. It has a connection of its own, so that no
// other read waits for it, except another readAll.
func (r *readers) readAll(ctx context.Context, fn func(*gorm.DB) error) error {
	if err := r.acquire(ctx, r.deadline(ctx), r.each); err != nil {
		return r.report(domain.Unavailable(err))
	}
	defer r.each.Release(1)
	return r.report(fn(r.db.WithContext(ctx)))
}
