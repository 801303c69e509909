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
	// changesInterval is how often old changes are removed, and how long after a failure that is tried again.
	changesInterval = time.Minute
	// followInterval is how often Follow looks for changes.
	followInterval = 200 * time.Millisecond
	followPage     = 100
)

// Follow calls fn for each change of animals and orders after a position, one after the other in the order of their
// commits, whoever made it: the API, the host, a command or another process. after is the Seq of the last change that the
// host has handled and stores with what it did, or 0 for the oldest change that is kept: a change whose Seq was not stored
// is passed again after a restart. Follow waits while the store is unavailable. It returns the error of ctx when that ends,
// of fn, or an ErrExpired (changes_expired) if the next change is not kept any more: then store what Changes().Last
// returns, read all animals and orders, and follow from there. End ctx before Close. It requires Options.RecordChanges.
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
		after = max(after, page.Position) // which is 0 with an error
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
