package usecase

import (
	"context"
	"time"

	"example.com/petstore/domain"
	"example.com/petstore/domain/port"
)

// Changes are the changes of animals and orders.
type Changes struct {
	tx      port.Transactor
	changes port.ChangeReader
	now     func() time.Time
}

// NewChanges returns Changes of a store. now is the clock.
func NewChanges(tx port.Transactor, changes port.ChangeReader, now func() time.Time) *Changes {
	return &Changes{tx: tx, changes: changes, now: now}
}

// List returns a page of the changes after a position, or an ErrInvalid (invalid_parameter) or an
// ErrExpired (changes_expired). It is exact: no change can appear before another one later.
func (c *Changes) List(ctx context.Context, page domain.PageRequest) (domain.Page[domain.Change], error) {
	if err := page.Validate(); err != nil {
		return domain.Page[domain.Change]{}, err
	}
	return c.changes.List(ctx, page)
}

// Position returns the Seq of the last change, 0 if none are recorded.
func (c *Changes) Position(ctx context.Context) (int64, error) { return c.changes.Position(ctx) }

// Begin begins to record changes, unless they are recorded.
func (c *Changes) Begin(ctx context.Context) error {
	if position, err := c.changes.Position(ctx); err != nil || position > 0 {
		return err
	}
	return c.tx.InTx(ctx, func(ctx context.Context, r port.Repositories) error { return r.Changes.Begin(ctx, c.now()) })
}

// RemoveOld removes the changes that are older than retention, except for some of the last ones.
func (c *Changes) RemoveOld(ctx context.Context, retention time.Duration) error {
	_, err := c.repeat(ctx, func(ctx context.Context, changes port.ChangeRepository) (bool, error) {
		now := c.now()
		return changes.RemoveOld(ctx, now.Add(-retention), now.Add(retention))
	})
	return err
}

// End removes all changes, so that no more are recorded. It reports whether there were any.
func (c *Changes) End(ctx context.Context) (bool, error) {
	if position, err := c.changes.Position(ctx); err != nil || position == 0 {
		return false, err
	}
	return c.repeat(ctx, func(ctx context.Context, changes port.ChangeRepository) (bool, error) { return changes.End(ctx) })
}

// repeat repeats a transaction until it has removed nothing. It reports whether one has removed something.
func (c *Changes) repeat(ctx context.Context, remove func(context.Context, port.ChangeRepository) (bool, error)) (removed bool, err error) {
	for {
		var more bool
		err := c.tx.InTx(ctx, func(ctx context.Context, r port.Repositories) (err error) {
			more, err = remove(ctx, r.Changes)
			return err
		})
		if err != nil || !more {
			return removed, err
		}
		removed = true
	}
}
