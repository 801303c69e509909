package repository

import (
	"context"
	"errors"
	"time"

	"example.com/petstore/domain"
)

// changes implements port.ChangeRepository. While the row of recording is active, triggers of the
// database record the changes, in the transaction that makes them.
type changes struct{ session }

func (c changes) List(ctx context.Context, page domain.PageRequest) (domain.ChangePage, error) {
	read, err := list(ctx, c.db, page, &changeModel{})
	if err != nil {
		return domain.ChangePage{}, err
	}
	recording, err := c.Recording(ctx) // after the page, of which nothing had been removed before if all are kept now
	switch {
	case err != nil:
		return domain.ChangePage{}, err
	case !recording.Active:
		return domain.ChangePage{}, domain.Unavailable(errors.New("no changes are recorded"))
	case page.After != 0 && (page.After < recording.KeptAfter || page.After > recording.Last):
		return domain.ChangePage{}, domain.ChangesExpired(page.After)
	}
	position := max(page.After, recording.KeptAfter)
	if n := len(read.Items); n > 0 {
		position = read.Items[n-1].Seq
	}
	return domain.ChangePage{Page: read, Position: position}, nil
}

func (c changes) Recording(ctx context.Context) (domain.Recording, error) {
	var model recordingModel
	err := c.db.WithContext(ctx).Select("active, kept_after, COALESCE((SELECT max(id) FROM changes), kept_after) AS last").Take(&model).Error
	return domain.Recording{Active: model.Active != 0, KeptAfter: model.KeptAfter, Last: model.Last}, err
}

func (c changes) Count(ctx context.Context) (n int64, err error) {
	err = c.db.WithContext(ctx).Model(&changeModel{}).Count(&n).Error
	return n, err
}

func (c changes) Each(ctx context.Context, fn func(domain.Change) error) error {
	return each(ctx, c.db, &changeModel{}, fn)
}

func (c changes) Begin(ctx context.Context, at time.Time) error {
	recording, err := c.Recording(ctx)
	if err != nil || recording.Active {
		return err
	}
	c.tx.MarkChanged(1) // cached pages have no position, or one of an earlier recording
	return c.update(ctx, map[string]any{"active": 1, "kept_after": max(recording.Last, at.UnixMicro())})
}

// changesPerRemoval is the number of changes that one transaction removes, while others wait.
const changesPerRemoval = 1000

func (c changes) RemoveOld(ctx context.Context, from, to time.Time) (bool, error) {
	recording, err := c.Recording(ctx)
	if err != nil {
		return false, err
	}
	end := recording.KeptAfter + changesPerRemoval
	var last changeModel
	err = c.db.WithContext(ctx).Where("id = ?", end).Take(&last).Error
	if err != nil || last.At >= from.UnixMilli() && last.At <= to.UnixMilli() {
		return false, notFoundAs(err, nil)
	}
	return true, c.remove(ctx, recording.KeptAfter, end)
}

func (c changes) End(ctx context.Context) (bool, error) {
	recording, err := c.Recording(ctx)
	if err != nil {
		return false, err
	}
	end := min(recording.KeptAfter+changesPerRemoval, recording.Last)
	if err := c.remove(ctx, recording.KeptAfter, end); err != nil {
		return false, err
	}
	return end < recording.Last, c.update(ctx, map[string]any{"active": 0})
}

// remove removes the changes after a position, that which is kept, up to another.
func (c changes) remove(ctx context.Context, after, end int64) error {
	err := c.db.WithContext(ctx).Where("id > ? AND id <= ?", after, end).Delete(&changeModel{}).Error
	if err != nil {
		return err
	}
	return c.update(ctx, map[string]any{"kept_after": end})
}

// update updates the row of recording.
func (c changes) update(ctx context.Context, columns map[string]any) error {
	return c.db.WithContext(ctx).Model(&recordingModel{}).Where("TRUE").Updates(columns).Error
}
