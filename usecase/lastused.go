package usecase

import (
	"context"
	"maps"
	"slices"
	"sync"
	"time"

	"example.com/petstore/domain"
)

const (
	// maxPendingKeys bounds the keys whose last use is not written yet. The use of one
	// more is dropped; its next use is recorded again.
	maxPendingKeys = 1024
	// flushTimeout bounds one write of last uses.
	flushTimeout = 5 * time.Second
)

// A lastUsedTracker records when each key was last used, by id, until that is written,
// so that no request waits for the store.
type lastUsedTracker struct {
	mu      sync.Mutex
	pending map[int64]time.Time
	written map[int64]time.Time // within the last KeyUseInterval: cached keys do not have it
}

func (l *lastUsedTracker) record(id int64, at time.Time) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if written, ok := l.written[id]; ok && at.Sub(written) < domain.KeyUseInterval {
		return
	}
	earlier, known := l.pending[id]
	switch {
	case l.pending == nil:
		l.pending = map[int64]time.Time{id: at}
	case known && at.After(earlier), !known && len(l.pending) < maxPendingKeys:
		l.pending[id] = at
	}
}

// take returns what is to be written.
func (l *lastUsedTracker) take() map[int64]time.Time {
	l.mu.Lock()
	defer l.mu.Unlock()
	taken := l.pending
	l.pending = nil
	return taken
}

// setWritten remembers what was written at now, and forgets what cannot matter any more.
func (l *lastUsedTracker) setWritten(uses map[int64]time.Time, now time.Time) {
	l.mu.Lock()
	defer l.mu.Unlock()
	maps.DeleteFunc(l.written, func(_ int64, at time.Time) bool { return now.Sub(at) >= domain.KeyUseInterval })
	if l.written == nil {
		l.written = map[int64]time.Time{}
	}
	maps.Copy(l.written, uses)
}

// FlushLastUsed writes the last uses of keys at every interval until ctx ends, and then
// once more; so let it run until the last request has finished. failed is called with
// the error of a write that failed; what it was to write is written the next time.
func (k *Keys) FlushLastUsed(ctx context.Context, interval time.Duration, failed func(error)) {
	ticker := time.NewTicker(interval)
	defer ticker.Stop()
	for ctx.Err() == nil {
		select {
		case <-ticker.C:
			k.flush(ctx, failed)
		case <-ctx.Done():
		}
	}
	k.flush(ctx, failed)
}

func (k *Keys) flush(ctx context.Context, failed func(error)) {
	uses := k.lastUsed.take()
	if len(uses) == 0 {
		return
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), flushTimeout)
	defer cancel()
	err := k.tx.InTx(ctx, func(ctx context.Context, r domain.Repositories) error {
		for _, id := range slices.Sorted(maps.Keys(uses)) { // in one order, so that two processes cannot deadlock
			if err := r.Keys.SetLastUsed(ctx, id, uses[id]); err != nil {
				return err
			}
		}
		return nil
	})
	if err == nil {
		k.lastUsed.setWritten(uses, k.now())
		return
	}
	for id, at := range uses {
		k.lastUsed.record(id, at)
	}
	failed(err)
}
