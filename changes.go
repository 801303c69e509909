package petstore

import (
	"cmp"
	"context"
	"time"

	"go.uber.org/zap"

	"example.com/petstore/usecase"
)

const (
	defaultChangesRetention = 7 * 24 * time.Hour
	minChangesRetention     = time.Hour
	// changesInterval is how often old changes are removed.
	changesInterval = time.Minute
)

// removeChanges removes old changes at an interval until ctx ends. Without Options.RecordChanges it
// removes all, which processes with it have recorded, until that succeeds.
func removeChanges(ctx context.Context, changes *usecase.Changes, o Options) {
	ticker := time.NewTicker(changesInterval)
	defer ticker.Stop()
	for ctx.Err() == nil {
		var removed bool
		var err error
		if o.RecordChanges {
			err = changes.Begin(ctx) // if a process without it has removed all
			err = cmp.Or(err, changes.RemoveOld(ctx, cmp.Or(o.ChangesRetention, defaultChangesRetention)))
		} else {
			removed, err = changes.End(ctx)
		}
		switch {
		case err != nil && ctx.Err() == nil:
			o.Logger.Warn("cannot remove changes", zap.Error(err))
		case removed:
			o.Logger.Warn("removed all changes, because this service does not record them")
		}
		if err == nil && !o.RecordChanges {
			return
		}
		select {
		case <-ctx.Done():
		case <-ticker.C:
		}
	}
}
