// Package gather runs one query for all callers that wait for it, on a database to which each
// query takes a round trip.
package gather

import (
	"context"
	"runtime"
	"sync"
)

// yields is how often a query yields to the scheduler before it begins: with few cores, requests
// that have arrived have not called yet.
const yields = 8

// A Query is run for the keys of all callers that wait, one at a time. It is safe for concurrent
// use. Close must be called.
type Query[K, V any] struct {
	run    func(context.Context, []K) ([]V, error)
	ctx    context.Context // of run
	cancel context.CancelFunc

	running sync.Mutex // held during a run
	mu      sync.Mutex
	next    *call[K, V] // has not begun yet, or nil
}

// A call is a run and the callers that wait for it.
type call[K, V any] struct {
	keys   []K
	values []V
	err    error
	done   chan struct{}
}

// New returns a Query. run returns the values of the keys in their order.
func New[K, V any](run func(context.Context, []K) ([]V, error)) *Query[K, V] {
	ctx, cancel := context.WithCancel(context.Background())
	return &Query[K, V]{run: run, ctx: ctx, cancel: cancel}
}

// Do returns the value of a key from a run that begins after the call. It returns the error of the
// run, or that of ctx, whose end does not interrupt the run.
func (q *Query[K, V]) Do(ctx context.Context, key K) (value V, err error) {
	c, i := q.join(key)
	select {
	case <-c.done:
	case <-ctx.Done():
		return value, ctx.Err()
	}
	if c.err != nil {
		return value, c.err
	}
	return c.values[i], nil
}

// join adds a key to the next call and returns its index there.
func (q *Query[K, V]) join(key K) (*call[K, V], int) {
	q.mu.Lock()
	defer q.mu.Unlock()
	if q.next == nil {
		q.next = &call[K, V]{done: make(chan struct{})}
		go q.begin(q.next)
	}
	q.next.keys = append(q.next.keys, key)
	return q.next, len(q.next.keys) - 1
}

// begin runs a call when the current one has ended.
func (q *Query[K, V]) begin(c *call[K, V]) {
	q.running.Lock()
	defer q.running.Unlock()
	for range yields {
		runtime.Gosched()
	}
	q.mu.Lock()
	q.next = nil // a later caller needs a later run
	q.mu.Unlock()
	c.values, c.err = q.run(q.ctx, c.keys)
	close(c.done)
}

// Close interrupts the current run and waits for its end. Later calls of Do return an error.
func (q *Query[K, V]) Close() {
	q.cancel()
	q.running.Lock()
	defer q.running.Unlock()
}
