package petstore

import (
	"context"
	"time"

	"go.uber.org/zap"

	"example.com/petstore/usecase"
)

const (
	defaultChangesRetention = 7 * 24 * time.Hour
	minChangesRetention     = time.Hour
	// changesInterval is how often old changes are removed, and how long after a failure that is tried again.
	changesInterval = time.Minute
)

// keepChanges records changes and removes old ones, at an interval until ctx ends.
func keepChanges(ctx context.Context, changes *usecase.Changes, retention time.Duration, log *zap.Logger) {
	repeat(ctx, func() bool {
		began, err := changes.Begin(ctx)
		if began && err == nil {
			log.Warn("began to record changes again, because a service that does not record them had ended the recording")
		}
		if err == nil {
			err = changes.RemoveOld(ctx, retention)
		}
		if err == nil {
			_, err = changes.Position(ctx) // so that it is not too old for lists that are seldom read
		}
		if err != nil && ctx.Err() == nil {
			log.Warn("cannot record or remove changes", zap.Error(err))
		}
		return false
	})
}

// endChanges ends the recording of other processes, and tries again at an interval until it succeeds or ctx ends.
func endChanges(ctx context.Context, changes *usecase.Changes, log *zap.Logger) {
	repeat(ctx, func() bool {
		removed, err := changes.End(ctx)
		switch {
		case err != nil && ctx.Err() == nil:
			log.Warn("cannot remove changes", zap.Error(err))
		case removed:
			log.Warn("removed all changes, because this service does not record them")
		}
		return err == nil
	})
}

// repeat calls fn at changesInterval until it returns true or ctx ends.
func repeat(ctx context.Context, fn func() bool) {
	ticker := time.NewTicker(changesInterval)
	defer ticker.Stop()
	for ctx.Err() == nil && !fn() {
		select {
		case <-ctx.Done():
		case <-ticker.C:
		}
	}
}
