// Package sharedquery runs one query for all callers that wait for it, on a database to which each
// query takes a round trip.
package sharedquery

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"sync"
)

// ErrClosed is the error of Query.Do after Close.
var ErrClosed = errors.New("the store is closed")

// yields is how often a run yields to the scheduler before it begins: with few cores, requests
// that have arrived have not called yet.
const yields = 8

// A Query is run for the keys of all callers that wait, one run at a time. It is safe for
// concurrent use. Close must be called.
type Query[K, V any] struct {
	query  func(context.Context, []K) ([]V, error)
	ctx    context.Context // of query
	cancel context.CancelFunc

	running sync.Mutex // held during a run
	mu      sync.Mutex
	next    *run[K, V] // has not begun yet, or nil
}

// A run is a call of the query, and the callers that wait for it.
type run[K, V any] struct {
	keys   []K
	values []V
	err    error
	done   chan struct{}
}

// New returns a Query. query returns the values of the keys in their order. Close ends its context.
func New[K, V any](query func(context.Context, []K) ([]V, error)) *Query[K, V] {
	ctx, cancel := context.WithCancel(context.Background()) //nolint:gosec // Close calls it
	return &Query[K, V]{query: query, ctx: ctx, cancel: cancel}
}

// Do returns the value of a key from a run that begins after the call. It returns the error of the
// run, ErrClosed, or that of ctx, whose end does not interrupt the run.
func (q *Query[K, V]) Do(ctx context.Context, key K) (value V, err error) {
	if err := ctx.Err(); err != nil {
		return value, err
	}
	r, i := q.join(key)
	select {
	case <-r.done:
	case <-ctx.Done():
		return value, ctx.Err()
	}
	if r.err != nil {
		return value, r.err
	}
	return r.values[i], nil
}

// join adds a key to the next run and returns its index there.
func (q *Query[K, V]) join(key K) (*run[K, V], int) {
	q.mu.Lock()
	defer q.mu.Unlock()
	if q.next == nil {
		q.next = &run[K, V]{done: make(chan struct{})}
		go q.begin(q.next)
	}
	q.next.keys = append(q.next.keys, key)
	return q.next, len(q.next.keys) - 1
}

// begin begins a run when the current one has ended.
func (q *Query[K, V]) begin(r *run[K, V]) {
	q.running.Lock()
	defer q.running.Unlock()
	defer close(r.done)
	for range yields {
		runtime.Gosched()
	}
	q.mu.Lock()
	q.next = nil // a later caller needs a later run
	q.mu.Unlock()
	if q.ctx.Err() == nil {
		r.values, r.err = q.recovered(r.keys)
	}
	if q.ctx.Err() != nil {
		r.err = ErrClosed
	}
}

// recovered calls the query. A panic is an error: on this goroutine it would end the process.
func (q *Query[K, V]) recovered(keys []K) (values []V, err error) {
	defer func() {
		if panicked := recover(); panicked != nil {
			err = fmt.Errorf("a query panicked: %v", panicked)
		}
	}()
	return q.query(q.ctx, keys)
}

// Close ends the context of the current run, waits for its end, and lets later calls of Do return
// ErrClosed.
func (q *Query[K, V]) Close() {
	q.cancel()
	q.running.Lock()
	defer q.running.Unlock()
}
