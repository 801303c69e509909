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
	// maxKeyUses is how many keys have their uses noted at a time. The next waits for
	// its next use: what nobody keeps, or the store does not take, must not grow.
	maxKeyUses = 1024
	// keyUsesWait is how long the store may take to write them.
	keyUsesWait = 5 * time.Second
)

// keyUses notes the latest use of each key by its id until that is written, so that
// no request waits for it.
type keyUses struct {
	mu     sync.Mutex
	latest map[int64]time.Time
}

func (u *keyUses) note(id int64, at time.Time) {
	u.mu.Lock()
	defer u.mu.Unlock()
	earlier, noted := u.latest[id]
	switch {
	case u.latest == nil:
		u.latest = map[int64]time.Time{id: at}
	case noted && at.After(earlier), !noted && len(u.latest) < maxKeyUses:
		u.latest[id] = at
	}
}

func (u *keyUses) take() map[int64]time.Time {
	u.mu.Lock()
	defer u.mu.Unlock()
	taken := u.latest
	u.latest = nil
	return taken
}

// KeepUses has the store told of the keys that Authenticate recognised, every so
// often until ctx ends, and then once more; so run it until the last request is
// answered. failed is told of each time that the store took nothing; what it was
// to take waits for the next time.
func (k *Keys) KeepUses(ctx context.Context, every time.Duration, failed func(error)) {
	tick := time.NewTicker(every)
	defer tick.Stop()
	for ctx.Err() == nil {
		select {
		case <-tick.C:
			k.writeUses(ctx, failed)
		case <-ctx.Done():
		}
	}
	k.writeUses(ctx, failed)
}

func (k *Keys) writeUses(ctx context.Context, failed func(error)) {
	uses := k.uses.take()
	if len(uses) == 0 {
		return
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), keyUsesWait)
	defer cancel()
	err := k.tx.InTx(ctx, func(ctx context.Context, r domain.Repositories) error {
		for _, id := range slices.Sorted(maps.Keys(uses)) { // in one order, lest two processes wait for each other
			if err := r.Keys.Use(ctx, id, uses[id]); err != nil {
				return err
			}
		}
		return nil
	})
	if err == nil {
		return
	}
	for id, at := range uses {
		k.uses.note(id, at)
	}
	failed(err)
}
