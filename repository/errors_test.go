package repository_test

import (
	"context"
	"database/sql"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"example.com/petstore/domain"
	"example.com/petstore/domain/apikey"
	"example.com/petstore/domain/port"
	"example.com/petstore/repository"
	"example.com/petstore/repository/engine"
	"example.com/petstore/repository/sqlite"
)

// failureCounts count the failures of a store.
type failureCounts struct {
	mu    sync.Mutex
	count map[engine.Failure]int
}

func newFailureCounts() *failureCounts { return &failureCounts{count: map[engine.Failure]int{}} }

func (c *failureCounts) add(failure engine.Failure) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.count[failure]++
}

// want compares the failures since its last call with want.
func (c *failureCounts) want(t *testing.T, want map[engine.Failure]int) {
	t.Helper()
	c.mu.Lock()
	defer c.mu.Unlock()
	if diff := cmp.Diff(want, c.count); diff != "" {
		t.Errorf("the failures (-want +got)\n%s", diff)
	}
	clear(c.count)
}

// openCounting opens a store and returns it with the counts of its failures.
func openCounting(t *testing.T, e engine.Engine) (*repository.Store, *failureCounts) {
	t.Helper()
	failures := newFailureCounts()
	return open(t, e, repository.Options{ObserveFailure: failures.add}), failures
}

func TestFullDiskIsObservedForEachCaller(t *testing.T) {
	t.Parallel()
	s, failures := openCounting(t, newEngine(t))
	// SQLite returns SQLITE_FULL for any page beyond the maximum.
	inTx(t, s, executing("PRAGMA max_page_count = 1"))
	tooLong := adding(strings.Repeat("x", 1<<16))
	if err := s.InTx(t.Context(), tooLong); !errors.Is(err, domain.ErrUnavailable) {
		t.Errorf("got %v, want unavailable", err)
	}
	failures.want(t, map[engine.Failure]int{engine.FailureFull: 1})

	release := block(t, s)
	results := []<-chan error{begin(t.Context(), s, tooLong), begin(t.Context(), s, tooLong), begin(t.Context(), s, tooLong)}
	release()
	for _, result := range results {
		if err := <-result; !errors.Is(err, domain.ErrUnavailable) {
			t.Errorf("got %v, want unavailable", err)
		}
	}
	if err := s.Ping(t.Context()); err != nil {
		t.Errorf("Ping on a full disk: got %v, want no error", err)
	}
	failures.want(t, map[engine.Failure]int{engine.FailureFull: 3})
}

func TestLockedFileIsObservedAsBusy(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "pets.db")
	s, failures := openCounting(t, sqlite.New(path))
	other, err := sql.Open("sqlite3", "file:"+path+"?_txlock=immediate")
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = other.Close() }()
	tx, err := other.BeginTx(t.Context(), nil)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = tx.Rollback() }()
	if err := s.InTx(t.Context(), adding("Rex")); !errors.Is(err, domain.ErrUnavailable) {
		t.Errorf("got %v, want unavailable", err)
	}
	failures.want(t, map[engine.Failure]int{engine.FailureBusy: 1})
}

func TestReplacedFileAndClosedStoreAreObserved(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "pets.db")
	s, failures := openCounting(t, sqlite.New(path))
	if err := os.Remove(path); err != nil {
		t.Fatal(err)
	}
	for _, call := range []func() error{
		func() error { return s.InTx(t.Context(), adding("Rex")) },
		func() error { return s.Ping(t.Context()) },
	} {
		if err := call(); !errors.Is(err, domain.ErrUnavailable) {
			t.Errorf("got %v, want unavailable", err)
		}
		failures.want(t, map[engine.Failure]int{engine.FailureReplaced: 1})
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	for _, call := range []func() error{
		func() error { return s.InTx(t.Context(), adding("Rex")) },
		func() error { _, err := s.Pets().Get(t.Context(), 1); return err },
	} {
		if err := call(); !errors.Is(err, domain.ErrUnavailable) {
			t.Errorf("got %v, want unavailable", err)
		}
		failures.want(t, map[engine.Failure]int{engine.FailureClosed: 1})
	}
}

func TestDeadlineIsObservedAndCancellationIsNot(t *testing.T) {
	t.Parallel()
	s, failures := openCounting(t, newEngine(t))
	release := block(t, s)
	defer release()
	if err := s.AcquireReadSlots(t.Context(), maxOpenConns); err != nil {
		t.Fatal(err)
	}
	defer s.ReleaseReadSlots(maxOpenConns)
	expired, stop := context.WithTimeout(t.Context(), time.Millisecond)
	defer stop()
	canceled, cancel := context.WithCancel(t.Context())
	cancel()
	for name, call := range map[string]func(context.Context) error{
		"InTx":            func(ctx context.Context) error { return s.InTx(ctx, adding("Rex")) },
		"Ping":            s.Ping,
		"pets.Get":        func(ctx context.Context) error { _, err := s.Pets().Get(ctx, 1); return err },
		"keys.FindByHash": func(ctx context.Context) error { _, err := s.Keys().FindByHash(ctx, apikey.Hash{}); return err },
	} {
		for ctx, want := range map[context.Context]map[engine.Failure]int{expired: {engine.FailureTimeout: 1}, canceled: {}} {
			if err := call(ctx); !errors.Is(err, domain.ErrUnavailable) {
				t.Errorf("%s: got %v, want unavailable", name, err)
			}
			failures.want(t, want)
		}
	}
}

func TestRejectedRequestIsNotObserved(t *testing.T) {
	t.Parallel()
	s, failures := openCounting(t, newEngine(t))
	_, notFound := s.Pets().Get(t.Context(), 1)
	rejected := s.InTx(t.Context(), func(context.Context, port.Repositories) error { return domain.PetNotAvailable(1) })
	if notFound == nil || rejected == nil {
		t.Errorf("got %v and %v, want two errors", notFound, rejected)
	}
	failures.want(t, map[engine.Failure]int{})
}
