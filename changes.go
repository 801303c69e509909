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

// Follow calls fn for each change of an animal, an order or a category after a position: one at a time, in the order of the commits.
// The API, the host, a command or another process may have made the change. after is the Seq of the last change that the
// host has handled; with 0, Follow begins with the oldest change that is kept. The host should store the Seq in one
// transaction with the effect of the change: after a restart, fn gets every change again whose Seq was not stored.
//
// While the store is unavailable, Follow waits. It returns the error of fn, or the error of ctx when ctx ends. It returns
// an ErrExpired (changes_expired) if the next change has been removed, or if the store has never given out the position, as
// after a restore: then store what Changes().Latest returns, read all records, and follow from the stored position. End ctx
// before Close.
func (s *Service) Follow(ctx context.Context, after int64, fn func(context.Context, domain.Change) error) error {
	ticker := time.NewTicker(followInterval)
	defer ticker.Stop()
	for ctx.Err() == nil {
		if latest, err := s.store.Numbers(ctx); err != nil || latest.Position == after { // there is nothing to read
			if !wait(ctx, ticker) {
				break
			}
			continue
		}
		page, err := s.changes.List(ctx, domain.PageRequest{After: after, Limit: followPage})
		if err != nil && !errors.Is(err, domain.ErrUnavailable) {
			return err
		}
		after = max(after, page.Next) // Next is 0 after an error
		for _, recorded := range page.Items {
			change, err := recorded.Decode()
			if err == nil {
				err = fn(ctx, change)
			}
			if err != nil {
				return err
			}
		}
		if !page.More && !wait(ctx, ticker) {
			break
		}
	}
	return ctx.Err()
}

// wait waits for the ticker, and reports false when ctx ends.
func wait(ctx context.Context, ticker *time.Ticker) bool {
	select {
	case <-ctx.Done():
		return false
	case <-ticker.C:
		return true
	}
}

// removeOldChanges removes old changes at an interval until ctx ends.
func removeOldChanges(ctx context.Context, changes *usecase.Changes, retention time.Duration, log *zap.Logger) {
	ticker := time.NewTicker(changesInterval)
	defer ticker.Stop()
	for {
		if err := changes.RemoveOld(ctx, retention); err != nil && ctx.Err() == nil {
			log.Warn("cannot remove old changes", zap.Error(err))
		}
		if !wait(ctx, ticker) {
			return
		}
	}
}
