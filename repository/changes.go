package repository

import (
	"context"
	"math/rand/v2"
	"time"

	"gorm.io/gorm"

	"example.com/petstore/domain"
)

// changes implements port.ChangeRepository. While recording.active is 1, triggers of the database record each change in the
// transaction that makes it.
type changes struct {
	reader[domain.Change]
	sharedRecording *sharedReads[struct{}, struct{}, domain.Recording] // nil in a transaction, and on some engines
}

func (c changes) List(ctx context.Context, page domain.PageRequest) (domain.ChangePage, error) {
	read, err := c.page(ctx, c.rows, page)
	if err != nil {
		return domain.ChangePage{}, err
	}
	recording, err := c.Recording(ctx) // read last: if the changes of the page are still kept, the page was complete
	switch {
	case err != nil:
		return domain.ChangePage{}, err
	case !recording.Active:
		return domain.ChangePage{}, &domain.Error{
			Kind: domain.ErrUnavailable, Code: domain.CodeUnavailable,
			Message: "changes are not recorded, because a process without changes.enabled has ended that: try again in a minute",
		}
	case page.After != 0 && (page.After < recording.KeptAfter || page.After > recording.Last):
		return domain.ChangePage{}, domain.ChangesExpired(page.After)
	}
	position := max(page.After, recording.KeptAfter)
	if n := len(read.Items); n > 0 {
		position = read.Items[n-1].Seq
	}
	return domain.ChangePage{Page: read, Position: position, Last: recording.Last}, nil
}

func (c changes) Recording(ctx context.Context) (domain.Recording, error) {
	if c.sharedRecording != nil {
		return c.sharedRecording.read(ctx, struct{}{}, struct{}{})
	}
	return recordingOf(c.db.WithContext(ctx))
}

func recordingOf(db *gorm.DB) (domain.Recording, error) {
	var model recordingModel
	err := db.Select("active, kept_after, COALESCE((SELECT max(id) FROM changes), kept_after) AS last").Take(&model).Error
	return domain.Recording{Active: model.Active != 0, KeptAfter: model.KeptAfter, Last: model.Last}, err
}

func (c changes) Count(ctx context.Context) (n int64, err error) {
	err = c.db.WithContext(ctx).Model(&changeModel{}).Count(&n).Error
	return n, err
}

func (c changes) Each(ctx context.Context, fn func(domain.Change) error) error {
	return each(ctx, c.db, &changeModel{}, fn)
}

func (c changes) Begin(ctx context.Context, at time.Time) (bool, error) {
	recording, err := c.Recording(ctx)
	if err != nil || recording.Active {
		return false, err
	}
	if recording.Last > recording.KeptAfter { // the process that ended the last recording has not removed all its changes
		return true, c.remove(ctx, recording, min(recording.KeptAfter+changesPerRemoval, recording.Last))
	}
	begin := max(recording.Last, at.UnixMicro()) + 1 + rand.Int64N(maxGap) //nolint:gosec // nobody gains from guessing it
	return false, c.update(ctx, map[string]any{"active": 1, "kept_after": begin})
}

// maxGap is the maximum of the random number that Begin adds to the first position of a recording. Because of this number, a
// store and a restored backup of it do not use the same positions, even if a clock was wrong. JavaScript represents positions
// up to 2^53 exactly, which is enough for about 6,500 recordings.
const maxGap = 1 << 40

func (c changes) RemoveOld(ctx context.Context, from, to time.Time) (bool, error) {
	recording, err := c.Recording(ctx)
	if err != nil || recording.Last < recording.KeptAfter+2*changesPerRemoval {
		return false, err
	}
	var last changeModel
	err = c.db.WithContext(ctx).Where("id >= ?", recording.KeptAfter+changesPerRemoval).Order("id").Take(&last).Error
	if err != nil || last.At >= from.UnixMilli() && last.At <= to.UnixMilli() {
		return false, notFoundAs(err, nil)
	}
	return true, c.remove(ctx, recording, last.ID)
}

func (c changes) End(ctx context.Context) (bool, error) {
	recording, err := c.Recording(ctx)
	if err != nil {
		return false, err
	}
	end := min(recording.KeptAfter+changesPerRemoval, recording.Last)
	if err := c.remove(ctx, recording, end); err != nil {
		return false, err
	}
	return end < recording.Last, c.update(ctx, map[string]any{"active": 0})
}

// changesPerRemoval is the number of changes that one transaction removes, while other transactions wait. It is also the
// number of the latest changes that RemoveOld keeps.
const changesPerRemoval = 1000

// remove removes the oldest changes of a recording, up to the position end. It marks a change: all cached pages become
// stale, because their positions may be before end, and streams of changes read again.
func (c changes) remove(ctx context.Context, recording domain.Recording, end int64) error {
	c.tx.MarkChanged(1)
	if err := c.update(ctx, map[string]any{"kept_after": end}); err != nil {
		return err
	}
	return c.db.WithContext(ctx).Where("id > ? AND id <= ?", recording.KeptAfter, end).Delete(&changeModel{}).Error
}

// update updates the row of the table recording.
func (c changes) update(ctx context.Context, columns map[string]any) error {
	_, err := changedOne(c.db.WithContext(ctx).Model(&recordingModel{}).Where("TRUE").Updates(columns), c.tx.MarkDirty)
	return err
}
