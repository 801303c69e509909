//go:build cgo

package repository_test

import (
	"context"
	"database/sql"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/mattn/go-sqlite3"

	"example.com/petstore/domain"
	"example.com/petstore/internal/batch"
	"example.com/petstore/internal/engine"
	"example.com/petstore/internal/groupcommit"
	"example.com/petstore/internal/port"
	"example.com/petstore/internal/test/testkit"
	"example.com/petstore/repository"
	"example.com/petstore/repository/sqlite"
)

func TestFullDiskIsObservedForEachCaller(t *testing.T) {
	t.Parallel()
	s, wantFailures := openCounting(t, newEngine(t))
	// SQLite returns SQLITE_FULL for each page beyond the maximum.
	inTx(t, s, executing("PRAGMA max_page_count = 1"))
	tooLong := adding(strings.Repeat("x", 1<<16))
	release := block(t, s)
	results := []<-chan error{begin(t.Context(), s, tooLong), begin(t.Context(), s, tooLong), begin(t.Context(), s, tooLong)}
	release()
	for _, result := range results {
		testkit.WantError(t, "InTx", <-result, domain.ErrUnavailable)
	}
	check(t, s.Ping(t.Context())) // Ping needs no space
	wantFailures(engine.FailureFull, engine.FailureFull, engine.FailureFull)
}

func TestStoreThatCannotBeUsedIsObserved(t *testing.T) {
	t.Parallel()
	for want, test := range map[engine.Failure]struct {
		prepare func(t *testing.T, s *repository.Store, path string)
		calls   []string
	}{
		engine.FailureBusy: {func(t *testing.T, _ *repository.Store, path string) {
			other, err := sql.Open("sqlite3", "file:"+path+"?_txlock=immediate")
			check(t, err)
			t.Cleanup(func() { _ = other.Close() })
			tx, err := other.BeginTx(context.WithoutCancel(t.Context()), nil)
			check(t, err)
			t.Cleanup(func() { _ = tx.Rollback() })
		}, []string{"InTx"}},
		engine.FailureReplaced: {func(t *testing.T, _ *repository.Store, path string) { check(t, os.Remove(path)) }, []string{"InTx", "Ping"}},
		engine.FailureClosed:   {func(t *testing.T, s *repository.Store, _ string) { check(t, s.Close()) }, []string{"InTx", "pets.Get"}},
	} {
		t.Run(string(want), func(t *testing.T) {
			t.Parallel()
			path := filepath.Join(t.TempDir(), "pets.db")
			s, wantFailures := openCounting(t, sqlite.New(path))
			test.prepare(t, s, path)
			for _, name := range test.calls {
				testkit.WantError(t, name, calls[name](t.Context(), s), domain.ErrUnavailable)
				wantFailures(want)
			}
		})
	}
}

func TestDeadlineIsObservedAndCancellationIsNot(t *testing.T) {
	t.Parallel()
	s, wantFailures := openCounting(t, newEngine(t))
	release := block(t, s)
	defer release()
	check(t, s.AcquireReadSlots(t.Context(), maxOpenConns))
	defer s.ReleaseReadSlots(maxOpenConns)
	expired, stop := context.WithDeadline(t.Context(), time.Now())
	defer stop()
	canceled, cancel := context.WithCancel(t.Context())
	cancel()
	for name, call := range calls {
		for ctx, want := range map[context.Context][]engine.Failure{expired: {engine.FailureTimeout}, canceled: nil} {
			testkit.WantError(t, name, call(ctx, s), domain.ErrUnavailable, ctx.Err())
			wantFailures(want...)
		}
	}
}

func TestRolledBackTransactionIsObservedByItsCause(t *testing.T) {
	t.Parallel()
	s, wantFailures := openCounting(t, newEngine(t))
	for cause, want := range map[error]engine.Failure{
		sqlite3.Error{Code: sqlite3.ErrFull}: engine.FailureFull,
		domain.PetNotFound(1):                engine.FailureOther,
	} {
		err := s.InTx(t.Context(), func(ctx context.Context, r port.Repositories) error {
			return errors.Join(cause, repository.ExecIn(ctx, r, "ROLLBACK"))
		})
		testkit.WantError(t, "InTx", err, domain.ErrUnavailable, groupcommit.ErrRolledBack)
		if errors.Is(err, domain.ErrNotFound) {
			t.Errorf("got %v, want not found only as text", err)
		}
		wantFailures(want)
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
		sqlite3.Error{Code: sqlite3.ErrIoErr, SystemErrno: syscall.ENOSPC}:    engine.FailureFull, // no space for the shared memory of the WAL
		sqlite3.Error{Code: sqlite3.ErrCorrupt}:                               engine.FailureCorrupt,
		sqlite3.Error{Code: sqlite3.ErrCantOpen, SystemErrno: syscall.EMFILE}: engine.FailureCannotOpen,
		sqlite3.Error{Code: sqlite3.ErrConstraint}:                            engine.FailureOther,
		context.DeadlineExceeded:                                              engine.FailureTimeout,
		batch.ErrQueueFull:                                                    engine.FailureQueueFull,
		batch.ErrClosed:                                                       engine.FailureClosed,
	} {
		testkit.Equal(t, err.Error(), want, s.FailureOf(domain.Unavailable(err)))
		testkit.Equal(t, "whether it is listed", true, slices.Contains(engine.Failures(), want))
	}
}
