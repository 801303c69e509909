//go:build cgo

package repository_test

import (
	"context"
	"errors"
	"slices"
	"syscall"
	"testing"

	"github.com/mattn/go-sqlite3"

	"example.com/petstore/domain"
	"example.com/petstore/domain/port"
	"example.com/petstore/repository"
	"example.com/petstore/repository/engine"
	"example.com/petstore/repository/groupcommit"
)

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
		if !errors.Is(err, groupcommit.ErrRolledBack) || errors.Is(err, domain.ErrNotFound) {
			t.Errorf("got %v, want %v, and not found only as text", err, groupcommit.ErrRolledBack)
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
