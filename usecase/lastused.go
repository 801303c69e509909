package usecase

import (
	"context"
	"sync"
	"time"

	"example.com/petstore/internal/port"
)

const (
	// maxPendingKeys is the maximum number of keys whose last use is not written yet. Uses of further keys are not
	// recorded.
	maxPendingKeys = 1024
	// flushTimeout is the timeout of one write of last uses.
	flushTimeout = 5 * time.Second
)

// A lastUsedTracker records the last use of each key, by id, until it is written to the store. So no request waits for
// the write. A key that was read before the write is recorded again; SetLastUsed then changes nothing.
type lastUsedTracker struct {
	mu      sync.Mutex
	pending map[int64]time.Time
}

func (l *lastUsedTracker) record(id int64, at time.Time) {
	l.mu.Lock()
	defer l.mu.Unlock()
	earlier, known := l.pending[id]
	switch {
	case l.pending == nil:
		l.pending = map[int64]time.Time{id: at}
	case known && at.After(earlier), !known && len(l.pending) < maxPendingKeys:
		l.pending[id] = at
	}
}

// take returns the pending uses and removes them.
func (l *lastUsedTracker) take() map[int64]time.Time {
	l.mu.Lock()
	defer l.mu.Unlock()
	taken := l.pending
	l.pending = nil
	return taken
}

// FlushLastUsed writes the last uses of keys to the store at an interval, until ctx ends, and then once more: ctx should
// end after the last request. After each write it calls done with the error, or nil. A write that failed is retried at
// the next interval.
func (k *Keys) FlushLastUsed(ctx context.Context, interval time.Duration, done func(error)) {
	ticker := time.NewTicker(interval)
	defer ticker.Stop()
	for ctx.Err() == nil {
		select {
		case <-ticker.C:
			k.flush(ctx, done)
		case <-ctx.Done():
		}
	}
	k.flush(ctx, done)
}

func (k *Keys) flush(ctx context.Context, done func(error)) {
	uses := k.lastUsed.take()
	if len(uses) == 0 {
		return
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), flushTimeout)
	defer cancel()
	err := k.tx.InTx(ctx, func(ctx context.Context, r port.Repositories) error {
		for id, at := range uses {
			if err := r.Keys.SetLastUsed(ctx, id, at); err != nil {
				return err
			}
		}
		return nil
	})
	if err != nil {
		for id, at := range uses {
			k.lastUsed.record(id, at)
		}
	}
	done(err)
}
