package repository

import (
	"context"
	"sync"
	"time"

	"example.com/petstore/domain"
)

// A refresher updates versions for the commits of other processes whenever a cache is used,
// on an engine that is Exact. One query serves all callers that wait when it starts.
type refresher struct {
	database     Database
	versions     *versions
	maxStaleness time.Duration

	running sync.Mutex // held during a query
	mu      sync.Mutex
	next    *refresh  // has not started yet, or nil
	last    time.Time // the start of the last query that succeeded
}

// A refresh is a query and the callers that wait for it.
type refresh struct {
	done chan struct{}
	err  error
}

// refresh returns nil when versions includes all commits before the request was received, or
// before the call if ctx is not that of a request, or those that are older than maxStaleness.
// A nil refresher does nothing.
func (r *refresher) refresh(ctx context.Context) error {
	if r == nil {
		return nil
	}
	since := time.Now() //nolint:forbidigo // compared with last
	if received, ok := ctx.Value(domain.ReceivedKey{}).(*time.Time); ok {
		since = *received
	}
	q := r.join(since.Add(-r.maxStaleness))
	if q == nil {
		return nil
	}
	select {
	case <-q.done:
		if q.err != nil {
			return domain.Unavailable(q.err)
		}
		return nil
	case <-ctx.Done():
		return domain.Unavailable(ctx.Err())
	}
}

// join returns the next query, or nil if the last one started after since.
func (r *refresher) join(since time.Time) *refresh {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.last.After(since) {
		return nil
	}
	if r.next == nil {
		r.next = &refresh{done: make(chan struct{})}
		go r.run(r.next)
	}
	return r.next
}

// run runs a query when the current one has ended.
func (r *refresher) run(q *refresh) {
	r.running.Lock()
	defer r.running.Unlock()
	r.mu.Lock()
	r.next = nil // a later caller needs a later query
	r.mu.Unlock()
	start := time.Now() //nolint:forbidigo // a duration, for maxStaleness
	changed, err := r.database.ChangedByOthers(context.Background())
	r.versions.increment(changed)
	if err == nil {
		r.mu.Lock()
		r.last = start
		r.mu.Unlock()
	}
	q.err = err
	close(q.done)
}
