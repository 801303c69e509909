package usecase

import (
	"context"
	"sync/atomic"
	"time"

	"example.com/petstore/domain"
	"example.com/petstore/domain/port"
)

// Changes implements the operations on the changes of animals and orders.
type Changes struct {
	tx           port.Transactor
	changes      port.ChangeReader
	now          func() time.Time
	maxStaleness time.Duration
	position     atomic.Pointer[position]
}

// A position is the result of a query that ended at the time at. last is the position of the latest change then.
// before is the field last of an earlier query, which ended at least maxStaleness before at. So every page that is
// read after at includes the changes up to before.
type position struct {
	at           time.Time
	last, before int64 // 0 if not known
}

// NewChanges returns the Changes of a store. now is the clock. maxStaleness is how long a page of a list may lack a
// commit of another process.
func NewChanges(tx port.Transactor, changes port.ChangeReader, now func() time.Time, maxStaleness time.Duration) *Changes {
	return &Changes{tx: tx, changes: changes, now: now, maxStaleness: maxStaleness}
}

// List returns a page of the changes after a position. The page has no gaps: a change that is committed later has a
// greater position than every change of the page. List returns an ErrInvalid (invalid_parameter) or an ErrExpired
// (changes_expired).
func (c *Changes) List(ctx context.Context, page domain.PageRequest) (domain.ChangePage, error) {
	if err := page.Validate(); err != nil {
		return domain.ChangePage{}, err
	}
	return c.changes.List(ctx, page)
}

// Last returns the position of the latest change, or 0 if changes are not recorded.
func (c *Changes) Last(ctx context.Context) (int64, error) {
	recording, err := c.changes.Recording(ctx)
	if err != nil || !recording.Active {
		return 0, err
	}
	return recording.Last, nil
}

// Position returns a position that every page read from now on includes, in every process, or 0 if none is known.
// If pages may lack commits (maxStaleness), it is an older position than the latest.
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
		if known != nil && known.last >= recording.KeptAfter { // otherwise not all changes after known.last are kept
			next.before = known.last
		}
	}
	c.position.Store(next)
	return next.before, nil
}

// Begin begins to record changes, unless they are already recorded. It reports whether it began.
func (c *Changes) Begin(ctx context.Context) (bool, error) {
	if recording, err := c.changes.Recording(ctx); err != nil || recording.Active {
		return false, err
	}
	return true, c.repeat(ctx, func(ctx context.Context, changes port.ChangeRepository) (bool, error) {
		return changes.Begin(ctx, c.now())
	})
}

// AwaitPosition waits until Position knows a position: it reads the latest one, and waits for maxStaleness.
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

// RemoveOld removes the changes that are older than retention, in whole batches of about 1,000. It keeps the last 1,000.
// It also removes changes whose time is more than retention in the future, because the clock was wrong.
func (c *Changes) RemoveOld(ctx context.Context, retention time.Duration) error {
	return c.repeat(ctx, func(ctx context.Context, changes port.ChangeRepository) (bool, error) {
		now := c.now()
		return changes.RemoveOld(ctx, now.Add(-retention), now.Add(retention))
	})
}

// End ends the recording of changes, and removes all changes. It reports whether there was anything to do.
func (c *Changes) End(ctx context.Context) (bool, error) {
	recording, err := c.changes.Recording(ctx)
	if err != nil || !recording.Active && recording.Last == recording.KeptAfter {
		return false, err
	}
	return true, c.repeat(ctx, func(ctx context.Context, changes port.ChangeRepository) (bool, error) { return changes.End(ctx) })
}

// repeat runs a transaction again and again, until remove returns false: there is no more to remove.
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
