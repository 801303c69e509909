package repository

import (
	"context"
	"errors"
	"time"

	"gorm.io/gorm"

	"example.com/petstore/domain"
)

// changes implements port.ChangeRepository. Triggers of the database record the changes, in the
// transaction that makes them, while the table has a row. The first row is not one of the changes: it
// is the position after which all are kept, the place of a change that was removed or of none.
type changes struct{ session }

func (c changes) List(ctx context.Context, page domain.PageRequest) (domain.Page[domain.Change], error) {
	none := domain.Page[domain.Change]{}
	items := make([]domain.Change, 0, page.Limit+2)
	query := c.db.Where("id >= ?", page.After).Limit(page.Limit + 2)
	err := each(ctx, query, &changeModel{}, func(change domain.Change) error {
		items = append(items, change)
		return nil
	})
	switch {
	case err != nil:
		return none, err
	case len(items) > 0 && (page.After == 0 || items[0].Seq == page.After):
		return cutPage(items[1:], page.Limit), nil
	}
	first, err := c.firstID(ctx, "id")
	switch {
	case err != nil:
	case first == 0:
		err = domain.Unavailable(errors.New("no changes are recorded"))
	case page.After != 0 && page.After < first:
		err = domain.ChangesExpired(page.After)
	}
	return none, err
}

func (c changes) Position(ctx context.Context) (int64, error) { return c.firstID(ctx, "id DESC") }

// firstID returns the first id in an order, 0 for none.
func (c changes) firstID(ctx context.Context, order string) (int64, error) {
	var model changeModel
	err := c.db.WithContext(ctx).Select("id").Order(order).Take(&model).Error
	return model.ID, notFoundAs(err, nil)
}

func (c changes) Count(ctx context.Context) (n int64, err error) {
	err = c.db.WithContext(ctx).Model(&changeModel{}).Count(&n).Error
	return max(n-1, 0), err
}

func (c changes) Each(ctx context.Context, fn func(domain.Change) error) error {
	first := true
	return each(ctx, c.db, &changeModel{}, func(change domain.Change) error {
		if first {
			first = false
			return nil
		}
		return fn(change)
	})
}

func (c changes) Begin(ctx context.Context, at time.Time) error {
	if position, err := c.Position(ctx); err != nil || position > 0 {
		return err
	}
	done := c.db.WithContext(ctx).Create(&changeModel{ID: at.UnixMicro(), Type: "begin", At: at.UnixMilli()})
	c.tx.MarkChanged(done.RowsAffected) // cached pages have no position, or one of an earlier recording
	return done.Error
}

// changesPerRemoval is the number of changes that one transaction removes, while others wait.
const changesPerRemoval = 1000

func (c changes) RemoveOld(ctx context.Context, from, to time.Time) (bool, error) {
	next, err := c.afterRemoval(ctx)
	if err != nil || next.At >= from.UnixMilli() && next.At <= to.UnixMilli() {
		return false, notFoundAs(err, nil)
	}
	err = c.db.WithContext(ctx).Where("id < ?", next.ID).Delete(&changeModel{}).Error
	return err == nil, err
}

func (c changes) End(ctx context.Context) (bool, error) {
	removal := c.db.WithContext(ctx)
	switch next, err := c.afterRemoval(ctx); {
	case err == nil:
		removal = removal.Where("id < ?", next.ID)
	case errors.Is(err, gorm.ErrRecordNotFound):
		removal = removal.Where("TRUE")
	default:
		return false, err
	}
	done := removal.Delete(&changeModel{})
	return done.RowsAffected > 0, done.Error
}

// afterRemoval returns the change after those that are removed at once.
func (c changes) afterRemoval(ctx context.Context) (next changeModel, err error) {
	err = c.db.WithContext(ctx).Order("id").Offset(changesPerRemoval).Take(&next).Error
	return next, err
}
