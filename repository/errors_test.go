//go:build cgo

package repository_test

import (
	"context"
	"database/sql"
	"errors"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/mattn/go-sqlite3"

	"example.com/petstore/domain"
	"example.com/petstore/domain/port"
	"example.com/petstore/repository"
	"example.com/petstore/repository/engine"
	"example.com/petstore/repository/groupcommit"
	"example.com/petstore/repository/sqlite"
)

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
	check(t, err)
	defer func() { _ = other.Close() }()
	tx, err := other.BeginTx(t.Context(), nil)
	check(t, err)
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
	check(t, os.Remove(path))
	for _, call := range []func() error{
		func() error { return s.InTx(t.Context(), adding("Rex")) },
		func() error { return s.Ping(t.Context()) },
	} {
		if err := call(); !errors.Is(err, domain.ErrUnavailable) {
			t.Errorf("got %v, want unavailable", err)
		}
		failures.want(t, map[engine.Failure]int{engine.FailureReplaced: 1})
	}
	check(t, s.Close())
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
	check(t, s.AcquireReadSlots(t.Context(), maxOpenConns))
	defer s.ReleaseReadSlots(maxOpenConns)
	expired, stop := context.WithTimeout(t.Context(), time.Millisecond)
	defer stop()
	canceled, cancel := context.WithCancel(t.Context())
	cancel()
	calls := maps.Clone(reads)
	calls["InTx"] = func(ctx context.Context, s *repository.Store) error { return s.InTx(ctx, adding("Rex")) }
	for name, call := range calls {
		for ctx, want := range map[context.Context]map[engine.Failure]int{expired: {engine.FailureTimeout: 1}, canceled: {}} {
			if err := call(ctx, s); !errors.Is(err, domain.ErrUnavailable) || !errors.Is(err, ctx.Err()) {
				t.Errorf("%s: got %v, want unavailable because of %v", name, err, ctx.Err())
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

func TestRolledBackTransactionIsObservedByItsCause(t *testing.T) {
	t.Parallel()
	s, failures := openCounting(t, newEngine(t))
	for cause, want := range map[error]engine.Failure{
		sqlite3.Error{Code: sqlite3.ErrFull}: engine.FailureFull,
		domain.PetNotFound(1):                engine.FailureOther,
	} {
		err := s.InTx(t.Context(), func(ctx context.Context, r port.Repositories) error {
			return errors.Join(cause, repository.ExecIn(ctx, r, "ROLLBACK"))
		})
		if !errors.Is(err, domain.ErrUnavailable) || !errors.Is(err, groupcommit.ErrRolledBack) || errors.Is(err, domain.ErrNotFound) {
			t.Errorf("got %v, want unavailable, %v, and not found only as text", err, groupcommit.ErrRolledBack)
		}
		failures.want(t, map[engine.Failure]int{want: 1})
	}
}

func TestEveryErrorHasAListedFailure(t *testing.T) {
	t.Parallel()
	s, _ := openCounting(t, newEngine(t))
	for err, want := range map[error]engine.Failure{
		sqlite3.Error{Code: sqlite3.ErrFull}:                                  engine.FailureFull,
		sqlite3.Error{Code: sqlite3.ErrBusy}:                                  engine.FailureBusy,
		sqlite3.Error{Code: sqlite3.ErrReadonly}:                              engine.FailureReadOnly,
		sqlite3.Error{Code: sqlite3.ErrIoErr}:                                 engine.FailureIO,
		sqlite3.Error{Code: sqlite3.ErrIoErr, SystemErrno: syscall.ENOSPC}:    engine.FailureFull, // for the shared memory of the WAL
		sqlite3.Error{Code: sqlite3.ErrCorrupt}:                               engine.FailureCorrupt,
		sqlite3.Error{Code: sqlite3.ErrCantOpen, SystemErrno: syscall.EMFILE}: engine.FailureCannotOpen,
		sqlite3.Error{Code: sqlite3.ErrConstraint}:                            engine.FailureOther,
		context.DeadlineExceeded:                                              engine.FailureTimeout,
		groupcommit.ErrQueueFull:                                              engine.FailureQueueFull,
		groupcommit.ErrClosed:                                                 engine.FailureClosed,
		groupcommit.ErrGoexit:                                                 engine.FailureOther,
	} {
		if got := s.FailureOf(domain.Unavailable(err)); got != want || !slices.Contains(engine.Failures(), got) {
			t.Errorf("%v: got the failure %q, want %q", err, got, want)
		}
	}
}
