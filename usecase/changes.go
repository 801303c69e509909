package usecase

import (
	"cmp"
	"context"
	"time"

	"example.com/petstore/domain"
	"example.com/petstore/internal/port"
)

// Changes implements the operations on the changes of animals, orders and categories.
type Changes struct {
	tx      port.Transactor
	changes port.ChangeReader
	now     func() time.Time
}

// NewChanges returns the Changes of a store. now is the clock.
func NewChanges(tx port.Transactor, changes port.ChangeReader, now func() time.Time) *Changes {
	return &Changes{tx, changes, now}
}

// List returns a page of the changes after a position. The page has no gaps: a change that is committed later has a
// greater position than every change of the page. List returns an ErrInvalid (invalid_parameter) or an ErrExpired
// (changes_expired). The limit is 20 when zero.
func (c *Changes) List(ctx context.Context, page domain.PageRequest) (domain.ChangePage, error) {
	page.Limit = cmp.Or(page.Limit, domain.DefaultLimit)
	if err := page.Validate(); err != nil {
		return domain.ChangePage{}, err
	}
	return c.changes.List(ctx, page)
}

// Latest returns the position of the latest change.
func (c *Changes) Latest(ctx context.Context) (int64, error) { return c.changes.Latest(ctx) }

// RemoveOld removes the changes that are older than retention, in whole batches of about 1,000. It keeps the last 1,000.
// It also removes changes whose time is more than retention in the future, because the clock was wrong.
func (c *Changes) RemoveOld(ctx context.Context, retention time.Duration) error {
	for more := true; more; {
		err := c.tx.InTx(ctx, func(ctx context.Context, r port.Repositories) (err error) {
			now := c.now()
			more, err = r.Changes.RemoveOld(ctx, now.Add(-retention), now.Add(retention))
			return err
		})
		if err != nil {
			return err
		}
	}
	return nil
}
