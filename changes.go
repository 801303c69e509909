package petstore

import (
	"context"
	"errors"
	"sync"
	"time"

	"github.com/prometheus/client_golang/prometheus"
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
// While the store is unavailable, Follow waits. It logs when that begins and ends. Follow returns the error of fn, or the error
// of ctx when ctx ends. It returns an ErrExpired (changes_expired) if the next change has been removed, or if the store has
// never given out the position, as after a restore. To begin again, call Changes().Latest, read all records, store them with
// this position, and follow from there. End ctx before Close.
func (s *Service) Follow(ctx context.Context, after int64, fn func(context.Context, domain.Change) error) error {
	f := &follower{Service: s, position: after}
	s.followers.setCurrent(f, s.followers.now())
	defer s.followers.remove(f)
	ticker := time.NewTicker(followInterval)
	defer ticker.Stop()
	for ctx.Err() == nil {
		page, err := f.next(ctx)
		if err != nil && !errors.Is(err, domain.ErrUnavailable) {
			return err
		}
		f.position = max(f.position, page.Next) // Next is 0 after an error
		for _, recorded := range page.Items {
			s.followers.setCurrent(f, recorded.At)
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

// A follower is a running call of Follow.
type follower struct {
	*Service
	position int64
	failed   time.Time // when the store became unavailable, zero while it is available
}

// next returns the changes that follow the position, and logs the begin and the end of an outage of the store.
func (f *follower) next(ctx context.Context) (page domain.ChangePage, err error) {
	now := f.followers.now()
	latest, err := f.store.Numbers(ctx)
	if err == nil && latest.Position != f.position {
		page, err = f.changes.List(ctx, domain.PageRequest{After: f.position, Limit: followPage})
	}
	switch {
	case ctx.Err() != nil: // the error is no outage
	case errors.Is(err, domain.ErrUnavailable) && f.failed.IsZero():
		f.failed = now
		f.followers.log.Warn("Follow waits until the store is available", zap.Error(err))
	case err == nil && !f.failed.IsZero():
		f.followers.log.Info("Follow continues", zap.Duration("after", now.Sub(f.failed)))
		f.failed = time.Time{}
	}
	if err == nil && len(page.Items) == 0 {
		f.followers.setCurrent(f, now)
	}
	return page, err
}

// followers are the running calls of Follow, as a prometheus.Collector.
type followers struct {
	now func() time.Time
	log *zap.Logger

	mu      sync.Mutex
	current map[*follower]time.Time // the time up to which a call has handled all changes
}

func (f *followers) setCurrent(call *follower, at time.Time) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.current[call] = at
}

func (f *followers) remove(call *follower) {
	f.mu.Lock()
	defer f.mu.Unlock()
	delete(f.current, call)
}

var followLag = prometheus.NewDesc("petstore_changes_follow_lag_seconds",
	"How long ago the slowest Follow had handled all changes. Without a running Follow there is no value.", nil, nil)

// Describe implements prometheus.Collector.
func (*followers) Describe(to chan<- *prometheus.Desc) { to <- followLag }

// Collect implements prometheus.Collector.
func (f *followers) Collect(to chan<- prometheus.Metric) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if len(f.current) == 0 {
		return
	}
	now, lag := f.now(), time.Duration(0)
	for _, at := range f.current {
		lag = max(lag, now.Sub(at))
	}
	to <- prometheus.MustNewConstMetric(followLag, prometheus.GaugeValue, lag.Seconds())
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
