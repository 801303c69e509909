package usecase

import (
	"context"
	"sync/atomic"
	"time"

	"example.com/petstore/domain"
	"example.com/petstore/domain/port"
)

// Changes are the changes of animals and orders.
type Changes struct {
	tx           port.Transactor
	changes      port.ChangeReader
	now          func() time.Time
	maxStaleness time.Duration
	position     atomic.Pointer[position]
}

// A position is that of the last change at a time, and one that was the last maxStaleness before or earlier.
type position struct {
	at           time.Time
	last, before int64 // 0 for none
}

// NewChanges returns Changes of a store. now is the clock. maxStaleness is for how long a page of a
// list may miss the commits of other processes.
func NewChanges(tx port.Transactor, changes port.ChangeReader, now func() time.Time, maxStaleness time.Duration) *Changes {
	return &Changes{tx: tx, changes: changes, now: now, maxStaleness: maxStaleness}
}

// List returns a page of the changes after a position, or an ErrInvalid (invalid_parameter) or an
// ErrExpired (changes_expired). It is exact: no change can appear before another one later.
func (c *Changes) List(ctx context.Context, page domain.PageRequest) (domain.ChangePage, error) {
	if err := page.Validate(); err != nil {
		return domain.ChangePage{}, err
	}
	return c.changes.List(ctx, page)
}

// Last returns the position of the last change, 0 if none are recorded.
func (c *Changes) Last(ctx context.Context) (int64, error) {
	recording, err := c.changes.Recording(ctx)
	if err != nil || !recording.Active {
		return 0, err
	}
	return recording.Last, nil
}

// Position returns the position of a change that all pages have that any process reads from now on, 0
// if there is none: that of the last one, or of one before if pages may miss commits.
func (c *Changes) Position(ctx context.Context) (int64, error) {
	if c.maxStaleness == 0 {
		return c.Last(ctx)
	}
	known := c.position.Load()
	if known != nil && time.Since(known.at) < c.maxStaleness {
		return known.before, nil
	}
	recording, err := c.changes.Recording(ctx)
	if err != nil {
		return 0, err
	}
	next := &position{at: time.Now()} //nolint:forbidigo // compared with an age
	if recording.Active {
		next.last = recording.Last
		if known != nil && known.last >= recording.KeptAfter { // not of an earlier recording
			next.before = known.last
		}
	}
	c.position.Store(next)
	return next.before, nil
}

// Begin begins to record changes, and reports whether they were not recorded before.
func (c *Changes) Begin(ctx context.Context) (bool, error) {
	if recording, err := c.changes.Recording(ctx); err != nil || recording.Active {
		return false, err
	}
	return true, c.repeat(ctx, func(ctx context.Context, changes port.ChangeRepository) (bool, error) {
		return changes.Begin(ctx, c.now())
	})
}

// AwaitPosition returns once there is a Position.
func (c *Changes) AwaitPosition(ctx context.Context) error {
	if _, err := c.Position(ctx); err != nil {
		return err
	}
	select {
	case <-ctx.Done():
		return ctx.Err()
	case <-time.After(c.maxStaleness):
		return nil
	}
}

// RemoveOld removes the changes that are older than retention, except for the last 1,000.
func (c *Changes) RemoveOld(ctx context.Context, retention time.Duration) error {
	return c.repeat(ctx, func(ctx context.Context, changes port.ChangeRepository) (bool, error) {
		now := c.now()
		return changes.RemoveOld(ctx, now.Add(-retention), now.Add(retention))
	})
}

// End ends the recording of changes and removes all. It reports whether there were any.
func (c *Changes) End(ctx context.Context) (bool, error) {
	recording, err := c.changes.Recording(ctx)
	if err != nil || !recording.Active && recording.Last == recording.KeptAfter {
		return false, err
	}
	return true, c.repeat(ctx, func(ctx context.Context, changes port.ChangeRepository) (bool, error) { return changes.End(ctx) })
}

// repeat repeats a transaction while it reports that there may be more to remove.
func (c *Changes) repeat(ctx context.Context, remove func(context.Context, port.ChangeRepository) (bool, error)) error {
	for more := true; more; {
		err := c.tx.InTx(ctx, func(ctx context.Context, r port.Repositories) (err error) {
			more, err = remove(ctx, r.Changes)
			return err
		})
		if err != nil {
			return err
		}
	}
	return nil
}
