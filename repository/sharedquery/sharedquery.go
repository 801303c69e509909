// Package sharedquery runs one query for all callers that wait for it, on a database to which each query
// takes a round trip. A caller that is alone runs the query on its own goroutine. Callers that call at the
// same moment share a run. So do callers that call while a run goes on: they share the next run. It is not
// for embedders.
package sharedquery

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"sync"
	"time"
)

// ErrClosed is the error of Query.Do after Close.
var ErrClosed = errors.New("the store is closed")

const (
	// yields is how often a run yields to the scheduler before it begins. With few cores, requests that
	// have arrived may not have called Do yet. Each of them would run the query alone, one after the other.
	yields = 8
	// timeout is how long a run may take.
	timeout = 5 * time.Second
)

// A Query runs a query for callers. Callers of the same group share runs, and a group has one run at a
// time. A Query is safe for concurrent use. Close must be called.
type Query[G comparable, K, V any] struct {
	query  func(context.Context, G, []K) ([]V, error)
	ctx    context.Context // the context of shared runs
	cancel context.CancelFunc
	groups sync.WaitGroup // the groups that have a run

	mu   sync.Mutex
	next map[G]*run[K, V] // the next run of each group that has a run; nil until a caller joins it
}

// A run is a call of the query for some callers.
type run[K, V any] struct {
	keys   []K
	values []V
	err    error
	done   chan struct{}
}

// New returns a Query. query must return the values of the keys in their order.
func New[G comparable, K, V any](query func(context.Context, G, []K) ([]V, error)) *Query[G, K, V] {
	ctx, cancel := context.WithCancel(context.Background()) //nolint:gosec // Close calls it
	return &Query[G, K, V]{query: query, ctx: ctx, cancel: cancel, next: map[G]*run[K, V]{}}
}

// Do returns the value of a key from a run that begins after the call. If the run fails, Do returns its
// error. A run for this key alone has the context ctx. A shared run has a context of its own, which Close
// ends: if ctx ends during the run, Do returns the error of ctx.
func (q *Query[G, K, V]) Do(ctx context.Context, group G, key K) (value V, err error) {
	if err := ctx.Err(); err != nil {
		return value, err
	}
	r, i, err := q.join(group, key)
	if err != nil {
		return value, err
	}
	if r == nil {
		if r, i = q.share(group, key); r == nil {
			return q.runAlone(ctx, group, key)
		}
	}
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

// join adds a key to the next run of a group, and returns the run and the index of the key. If the group
// has no run, join returns nil: the caller must run the query.
func (q *Query[G, K, V]) join(group G, key K) (*run[K, V], int, error) {
	q.mu.Lock()
	defer q.mu.Unlock()
	if q.ctx.Err() != nil {
		return nil, 0, ErrClosed
	}
	r, running := q.next[group]
	if !running {
		q.next[group] = nil
		q.groups.Add(1)
		return nil, 0, nil
	}
	if r == nil {
		r = &run[K, V]{done: make(chan struct{})}
		q.next[group] = r
	}
	r.keys = append(r.keys, key)
	return r, len(r.keys) - 1, nil
}

// share begins a run for the caller and for others that call at the same moment. If there are none, it
// returns nil.
func (q *Query[G, K, V]) share(group G, key K) (*run[K, V], int) {
	for range yields {
		runtime.Gosched()
	}
	q.mu.Lock()
	defer q.mu.Unlock()
	r := q.next[group]
	if r == nil {
		return nil, 0
	}
	r.keys = append(r.keys, key)
	q.groups.Go(func() { q.serve(group) })
	q.groups.Done() // for the Add of join
	return r, len(r.keys) - 1
}

// runAlone runs the query for one key. Then it starts a goroutine for the callers that have called
// meanwhile.
func (q *Query[G, K, V]) runAlone(ctx context.Context, group G, key K) (value V, err error) {
	defer func() {
		q.mu.Lock()
		defer q.mu.Unlock()
		if q.next[group] == nil {
			delete(q.next, group)
		} else {
			q.groups.Go(func() { q.serve(group) })
		}
		q.groups.Done()
	}()
	ctx, cancel := context.WithTimeout(ctx, timeout)
	defer cancel()
	values, err := q.query(ctx, group, []K{key})
	if err != nil {
		return value, err
	}
	return values[0], nil
}

// serve runs the query for a group until no caller waits.
func (q *Query[G, K, V]) serve(group G) {
	for r := q.begin(group); r != nil; r = q.begin(group) {
		r.values, r.err = q.recovered(group, r.keys)
		if q.ctx.Err() != nil {
			r.err = ErrClosed
		}
		close(r.done)
	}
}

// begin returns the next run of a group, or nil if there is none. Later callers do not join that run.
func (q *Query[G, K, V]) begin(group G) *run[K, V] {
	for range yields {
		runtime.Gosched()
	}
	q.mu.Lock()
	defer q.mu.Unlock()
	r := q.next[group]
	q.next[group] = nil
	if r == nil {
		delete(q.next, group)
	}
	return r
}

// recovered calls the query. It returns a panic as an error, because on this goroutine a panic would end
// the process.
func (q *Query[G, K, V]) recovered(group G, keys []K) (values []V, err error) {
	defer func() {
		if panicked := recover(); panicked != nil {
			err = fmt.Errorf("a query panicked: %v", panicked)
		}
	}()
	ctx, cancel := context.WithTimeout(q.ctx, timeout)
	defer cancel()
	return q.query(ctx, group, keys)
}

// Close ends the context of shared runs and waits for the end of all runs. Later calls of Do return
// ErrClosed.
func (q *Query[G, K, V]) Close() {
	q.mu.Lock()
	q.cancel()
	for group, r := range q.next {
		if r != nil {
			r.err = ErrClosed
			close(r.done)
			q.next[group] = nil
		}
	}
	q.mu.Unlock()
	q.groups.Wait()
}
