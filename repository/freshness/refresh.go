package freshness

import (
	"context"
	"runtime"
	"sync"
	"time"
)

// gatherYields is how often a query yields to the scheduler before it starts.
const gatherYields = 8

// A refresher runs a query for all callers that wait for it: one that begins after each of them
// has called.
type refresher struct {
	ctx context.Context // of the queries
	run func(context.Context) error

	running sync.Mutex // held during a query
	mu      sync.Mutex
	next    *query    // has not started yet, or nil
	last    time.Time // the start of the last query that succeeded
}

// A query is run once for all callers that wait for it.
type query struct {
	done chan struct{}
	err  error
}

// newRefresher returns a refresher whose queries are interrupted when ctx ends.
func newRefresher(ctx context.Context, run func(context.Context) error) *refresher {
	return &refresher{ctx: ctx, run: run}
}

// wait returns nil when a query that began after since has succeeded. It returns the error of the
// query, or that of ctx.
func (r *refresher) wait(ctx context.Context, since time.Time) error {
	q := r.join(since)
	if q == nil {
		return nil
	}
	select {
	case <-q.done:
		return q.err
	case <-ctx.Done():
		return ctx.Err()
	}
}

// join returns the next query, or nil if the last one started after since.
func (r *refresher) join(since time.Time) *query {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.last.After(since) {
		return nil
	}
	if r.next == nil {
		r.next = &query{done: make(chan struct{})}
		go r.start(r.next)
	}
	return r.next
}

// start runs a query when the current one has ended.
func (r *refresher) start(q *query) {
	r.running.Lock()
	defer r.running.Unlock()
	for range gatherYields { // with few cores, requests that have arrived have not called yet
		runtime.Gosched()
	}
	r.mu.Lock()
	r.next = nil // a later caller needs a later query
	r.mu.Unlock()
	start := time.Now() //nolint:forbidigo // compared with the time of callers
	err := r.run(r.ctx)
	if err == nil {
		r.mu.Lock()
		r.last = start
		r.mu.Unlock()
	}
	q.err = err
	close(q.done)
}

// waitForQuery returns when the current query has ended.
func (r *refresher) waitForQuery() {
	r.running.Lock()
	defer r.running.Unlock()
}
