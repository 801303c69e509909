package repository_test

import (
	"context"
	"database/sql"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/mattn/go-sqlite3"

	"example.com/petstore/domain"
	"example.com/petstore/repository"
	"example.com/petstore/repository/sqlite"
)

// errorCounts counts the errors of a store by kind.
type errorCounts struct {
	mu    sync.Mutex
	count map[string]int
}

func (c *errorCounts) add(kind string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.count[kind]++
}

// want compares the errors since its last call with want.
func (c *errorCounts) want(t *testing.T, want map[string]int) {
	t.Helper()
	c.mu.Lock()
	defer c.mu.Unlock()
	if diff := cmp.Diff(want, c.count); diff != "" {
		t.Errorf("errors by kind (-want +got)\n%s", diff)
	}
	clear(c.count)
}

// openCounting opens a store and returns it with the counts of its errors.
func openCounting(t *testing.T, path string) (*repository.Store, *errorCounts) {
	t.Helper()
	errorsByKind := &errorCounts{count: map[string]int{}}
	s, err := repository.Open(t.Context(), sqlite.New(path), repository.Options{Migrate: true, ObserveError: errorsByKind.add})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = s.Close() })
	return s, errorsByKind
}

func TestFullDiskIsObservedForEachCaller(t *testing.T) {
	t.Parallel()
	s, errorsByKind := openCounting(t, filepath.Join(t.TempDir(), "pets.db"))
	// SQLite returns SQLITE_FULL for any page beyond the maximum.
	if err := s.InTx(t.Context(), func(ctx context.Context, r domain.Repositories) error {
		return repository.ExecIn(ctx, r, "PRAGMA max_page_count = 1")
	}); err != nil {
		t.Fatal(err)
	}
	tooLong := adding(strings.Repeat("x", 1<<16))
	if err := s.InTx(t.Context(), tooLong); !errors.Is(err, domain.ErrUnavailable) {
		t.Errorf("got %v, want unavailable", err)
	}
	errorsByKind.want(t, map[string]int{repository.KindFull: 1})

	release := blockWriter(t, s)
	results := []<-chan error{enqueue(t.Context(), s, tooLong), enqueue(t.Context(), s, tooLong), enqueue(t.Context(), s, tooLong)}
	release()
	for _, result := range results {
		if err := <-result; !errors.Is(err, domain.ErrUnavailable) {
			t.Errorf("got %v, want unavailable", err)
		}
	}
	if err := s.Ping(t.Context()); err != nil {
		t.Errorf("Ping on a full disk: got %v, want no error", err)
	}
	errorsByKind.want(t, map[string]int{repository.KindFull: 3})
}

func TestRolledBackTransactionIsObservedByItsCause(t *testing.T) {
	t.Parallel()
	s, errorsByKind := openCounting(t, filepath.Join(t.TempDir(), "pets.db"))
	for cause, want := range map[error]string{
		sqlite3.Error{Code: sqlite3.ErrFull}: repository.KindFull,
		domain.PetNotFound(1):                repository.KindOther,
	} {
		err := s.InTx(t.Context(), func(ctx context.Context, r domain.Repositories) error {
			return errors.Join(cause, repository.ExecIn(ctx, r, "ROLLBACK"))
		})
		if !errors.Is(err, repository.ErrRolledBack) || errors.Is(err, domain.ErrNotFound) {
			t.Errorf("got %v, want %v, and not found only as text", err, repository.ErrRolledBack)
		}
		errorsByKind.want(t, map[string]int{want: 1})
	}
}

func TestLockedFileIsObservedAsBusy(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "pets.db")
	s, errorsByKind := openCounting(t, path)
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
	errorsByKind.want(t, map[string]int{repository.KindBusy: 1})
}

func TestReplacedFileAndClosedStoreAreObserved(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "pets.db")
	s, errorsByKind := openCounting(t, path)
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
		errorsByKind.want(t, map[string]int{repository.KindReplaced: 1})
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
		errorsByKind.want(t, map[string]int{repository.KindClosed: 1})
	}
}

func TestDeadlineIsObservedAndCancellationIsNot(t *testing.T) {
	t.Parallel()
	s, errorsByKind := openCounting(t, filepath.Join(t.TempDir(), "pets.db"))
	release := blockWriter(t, s)
	defer release()
	const slots = 4 // the default of Options.MaxOpenConns
	if err := s.AcquireReadSlots(t.Context(), slots); err != nil {
		t.Fatal(err)
	}
	defer s.ReleaseReadSlots(slots)
	expired, stop := context.WithTimeout(t.Context(), time.Millisecond)
	defer stop()
	canceled, cancel := context.WithCancel(t.Context())
	cancel()
	for name, call := range map[string]func(context.Context) error{
		"InTx":            func(ctx context.Context) error { return s.InTx(ctx, adding("Rex")) },
		"Ping":            s.Ping,
		"pets.Get":        func(ctx context.Context) error { _, err := s.Pets().Get(ctx, 1); return err },
		"keys.FindByHash": func(ctx context.Context) error { _, err := s.Keys().FindByHash(ctx, domain.KeyHash{}); return err },
	} {
		for ctx, want := range map[context.Context]map[string]int{expired: {repository.KindTimeout: 1}, canceled: {}} {
			if err := call(ctx); !errors.Is(err, domain.ErrUnavailable) {
				t.Errorf("%s: got %v, want unavailable", name, err)
			}
			errorsByKind.want(t, want)
		}
	}
}

func TestRejectedRequestIsNotObserved(t *testing.T) {
	t.Parallel()
	s, errorsByKind := openCounting(t, filepath.Join(t.TempDir(), "pets.db"))
	_, notFound := s.Pets().Get(t.Context(), 1)
	rejected := s.InTx(t.Context(), func(context.Context, domain.Repositories) error { return domain.PetNotAvailable(1) })
	if notFound == nil || rejected == nil {
		t.Errorf("got %v and %v, want two errors", notFound, rejected)
	}
	errorsByKind.want(t, map[string]int{})
}

func TestEveryErrorHasAListedKind(t *testing.T) {
	t.Parallel()
	s, _ := openCounting(t, filepath.Join(t.TempDir(), "pets.db"))
	for err, want := range map[error]string{
		sqlite3.Error{Code: sqlite3.ErrFull}:                                  repository.KindFull,
		sqlite3.Error{Code: sqlite3.ErrBusy}:                                  repository.KindBusy,
		sqlite3.Error{Code: sqlite3.ErrReadonly}:                              repository.KindReadOnly,
		sqlite3.Error{Code: sqlite3.ErrIoErr}:                                 repository.KindIO,
		sqlite3.Error{Code: sqlite3.ErrIoErr, SystemErrno: syscall.ENOSPC}:    repository.KindFull, // for the shared memory of the WAL
		sqlite3.Error{Code: sqlite3.ErrCorrupt}:                               repository.KindCorrupt,
		sqlite3.Error{Code: sqlite3.ErrCantOpen, SystemErrno: syscall.EMFILE}: repository.KindCannotOpen,
		sqlite3.Error{Code: sqlite3.ErrConstraint}:                            repository.KindOther,
		context.DeadlineExceeded:                                              repository.KindTimeout,
		repository.ErrQueueFull:                                               repository.KindQueueFull,
		repository.ErrClosed:                                                  repository.KindClosed,
		repository.ErrGoexit:                                                  repository.KindOther,
	} {
		if got := s.ErrorKind(domain.Unavailable(err)); got != want || !slices.Contains(repository.ErrorKinds(), got) {
			t.Errorf("%v: got the kind %q, want %q", err, got, want)
		}
	}
}
