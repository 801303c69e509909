package repository

import (
	"context"
	"errors"
	"runtime"
	"sync"
	"sync/atomic"
	"time"

	"gorm.io/gorm"

	"example.com/petstore/domain"
)

const (
	// queueSize is how many transactions may be queued; one more is rejected.
	queueSize = 1024
	// maxBatch is the maximum number of transactions that share a commit.
	maxBatch = 256
	// gatherYields is how often the writer yields to the scheduler while it gathers a batch.
	gatherYields = 8
	// maxBatchDelay is how long the writer waits at most until a batch is as large as the
	// last one.
	maxBatchDelay = time.Millisecond
)

var (
	errQueueFull = errors.New("too many transactions are queued")
	errClosed    = errors.New("the store is closed")
	errNested    = errors.New("InTx was called within a transaction")
	errGoexit    = errors.New("a transaction function called runtime.Goexit")
)

// A writer runs the transactions of all callers (group commit). One goroutine takes all
// that are queued, runs them in one transaction, commits it, and then replies to each
// caller: they share one fsync, and no caller gets a result that is not durable.
type writer struct {
	database Database
	db       *gorm.DB
	versions *versions
	observe  func(batch int, took time.Duration)

	queue   chan *pendingTx
	waiting atomic.Int64 // callers of do
	quit    chan struct{}
	closing sync.Once
	stopped chan struct{}
	tick    atomic.Pointer[chan struct{}] // closed and replaced at every pollInterval
	batch   []*pendingTx                  // current or last
	timer   *time.Timer
}

// newWriter starts a writer. The caller must close it.
func newWriter(database Database, db *gorm.DB, v *versions, observe func(batch int, took time.Duration)) (*writer, error) {
	w := &writer{
		database: database, db: db, versions: v, observe: observe,
		queue: make(chan *pendingTx, queueSize), quit: make(chan struct{}), stopped: make(chan struct{}),
		timer: time.NewTimer(maxBatchDelay),
	}
	if err := w.poll(); err != nil {
		return nil, err
	}
	w.replaceTick()
	go w.run()
	go w.watchPolls()
	return w, nil
}

// close stops the writer once the queued transactions are committed.
func (w *writer) close() {
	w.closing.Do(func() { close(w.quit) })
	<-w.stopped
}

// do queues a function and returns nil when its transaction is durable, or returns the
// error, or panics with the panic, that rolled it back. When ctx ends before the function
// has started, do returns and the function never runs; later, do waits for the commit.
func (w *writer) do(ctx context.Context, fn txFunc) error {
	if ctx.Value(inTxKey{}) != nil {
		return errNested
	}
	if err := ctx.Err(); err != nil {
		return domain.Unavailable(err)
	}
	w.waiting.Add(1)
	defer w.waiting.Add(-1)
	p := &pendingTx{ctx: ctx, fn: fn, done: make(chan struct{})}
	if err := w.enqueue(p); err != nil {
		return domain.Unavailable(err)
	}
	if err := w.wait(ctx, p); err != nil {
		return domain.Unavailable(err)
	}
	return p.result()
}

func (w *writer) enqueue(p *pendingTx) error {
	select {
	case <-w.quit:
		return errClosed
	default:
	}
	select {
	case w.queue <- p:
		return nil
	default:
		return errQueueFull
	}
}

// wait returns nil when the writer has replied, or an error when the function will never
// run.
func (w *writer) wait(ctx context.Context, p *pendingTx) (err error) {
	// Most transactions are done before the next tick, and ctx.Done would start a timer.
	select {
	case <-p.done:
		return nil
	case <-*w.tick.Load():
	case <-w.stopped:
	}
	select {
	case <-p.done:
		return nil
	case <-ctx.Done():
		err = ctx.Err()
	case <-w.stopped:
		err = errClosed
	}
	if p.withdraw() {
		return err
	}
	<-p.done
	return nil
}

func (w *writer) run() {
	quit := false
	defer func() {
		if !quit { // a function has called runtime.Goexit: continue in a new goroutine
			go w.run()
			return
		}
		close(w.stopped)
	}()
	ticker := time.NewTicker(pollInterval)
	defer ticker.Stop()
	for {
		select {
		case first := <-w.queue:
			w.commitAndReply(w.gather(first))
		case <-ticker.C:
			if w.poll() != nil {
				w.versions.invalidateAll()
			}
		case <-w.quit:
			for len(w.queue) > 0 {
				w.commitAndReply(w.gather(<-w.queue))
			}
			quit = true
			return
		}
	}
}

// commitAndReply commits a batch, then replies to its callers.
func (w *writer) commitAndReply(batch []*pendingTx) {
	err := domain.Unavailable(errGoexit)
	defer func() { reply(batch, err) }()
	err = w.commit(batch)
}

// gather returns a batch: the first transaction and the queued ones. It yields to the
// scheduler, because with few cores the callers of the last commit have not queued their
// next transaction yet, and small batches would pay for an fsync each. Then it waits for
// as many transactions as the last batch had; a single caller does not wait.
func (w *writer) gather(first *pendingTx) []*pendingTx {
	expected := len(w.batch)
	w.batch = append(w.batch[:0], first)
	for range gatherYields {
		runtime.Gosched()
		w.takeQueued()
	}
	if len(w.batch) < expected {
		w.waitFor(expected)
		w.takeQueued()
	}
	return w.batch
}

// takeQueued moves the queued transactions to the batch.
func (w *writer) takeQueued() {
	for len(w.queue) > 0 && len(w.batch) < maxBatch {
		w.batch = append(w.batch, <-w.queue)
	}
}

// waitFor adds to the batch until it has n transactions or maxBatchDelay has passed.
func (w *writer) waitFor(n int) {
	w.timer.Reset(maxBatchDelay)
	defer w.timer.Stop()
	for len(w.batch) < n {
		select {
		case p := <-w.queue:
			w.batch = append(w.batch, p)
		case <-w.timer.C:
			return
		}
	}
}
