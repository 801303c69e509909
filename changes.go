package petstore

import (
	"context"
	"errors"
	"time"

	"go.uber.org/zap"

	"example.com/petstore/domain"
	"example.com/petstore/usecase"
)

const (
	defaultChangesRetention = 7 * 24 * time.Hour
	minChangesRetention     = time.Hour
	// changesInterval is how often old changes are removed. A failure is retried after the same interval.
	changesInterval = time.Minute
	// followInterval is how often Follow looks for changes.
	followInterval = 200 * time.Millisecond
	followPage     = 100
)

// Follow calls fn for each change of an animal or an order after a position: one at a time, in the order of the commits.
// The API, the host, a command or another process may have made the change. after is the Seq of the last change that the
// host has handled; with 0, Follow begins with the oldest change that is kept. The host should store the Seq in one
// transaction with the effect of the change: after a restart, fn gets every change again whose Seq was not stored.
//
// While the store is unavailable, Follow waits. It returns the error of fn, or the error of ctx when ctx ends. It returns
// an ErrExpired (changes_expired) if the next change has been removed, or if the position is of another recording, as
// after a restore: then store what Changes().Last returns, read all animals and orders, and follow from the stored
// position. End ctx before Close. Follow requires Options.RecordChanges.
func (s *Service) Follow(ctx context.Context, after int64, fn func(context.Context, domain.Change) error) error {
	if s.changes == nil {
		return errors.New("petstore: Follow requires Options.RecordChanges")
	}
	ticker := time.NewTicker(followInterval)
	defer ticker.Stop()
	for ctx.Err() == nil {
		page, err := s.changes.List(ctx, domain.PageRequest{After: after, Limit: followPage})
		if err != nil && !errors.Is(err, domain.ErrUnavailable) {
			return err
		}
		after = max(after, page.Position) // Position is 0 after an error
		for _, change := range page.Items {
			if err := fn(ctx, change); err != nil {
				return err
			}
		}
		if page.More {
			continue
		}
		select {
		case <-ctx.Done():
		case <-ticker.C:
		}
	}
	return ctx.Err()
}

// keepChanges removes old changes at an interval until ctx ends. It begins to record changes again if another process
// has ended that.
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
			// With Options.Store.MaxStaleness, Position returns a position that an earlier call has read. Regular calls
			// keep that position recent.
			_, err = changes.Position(ctx)
		}
		if err != nil && ctx.Err() == nil {
			log.Warn("cannot record or remove changes", zap.Error(err))
		}
		return false
	})
}

// endChanges ends the recording that other processes have begun, and removes its changes. It retries at an interval
// until it succeeds or ctx ends.
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
