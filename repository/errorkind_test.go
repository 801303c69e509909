package repository

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
)

// kinds counts the errors of a store by kind.
type kinds struct {
	mu    sync.Mutex
	count map[string]int
}

func (k *kinds) add(kind string) {
	k.mu.Lock()
	defer k.mu.Unlock()
	k.count[kind]++
}

// want expects these errors since the last call.
func (k *kinds) want(t *testing.T, want map[string]int) {
	t.Helper()
	k.mu.Lock()
	defer k.mu.Unlock()
	if diff := cmp.Diff(want, k.count); diff != "" {
		t.Errorf("errors by kind (-want +got)\n%s", diff)
	}
	clear(k.count)
}

// openCounting opens a store at a path and returns with it the kinds of its errors.
func openCounting(t *testing.T, path string) (*Store, *kinds) {
	t.Helper()
	counted := &kinds{count: map[string]int{}}
	s, err := Open(t.Context(), Options{DSN: path, Migrate: true, ObserveError: counted.add})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = s.Close() })
	return s, counted
}

func TestFullDiskIsCountedForEachCaller(t *testing.T) {
	t.Parallel()
	s, counted := openCounting(t, filepath.Join(t.TempDir(), "pets.db"))
	// As if the disk ended behind the pages that there are.
	if err := s.InTx(t.Context(), func(_ context.Context, r domain.Repositories) error {
		return r.Pets.(pets).db.Exec("PRAGMA max_page_count = 1").Error
	}); err != nil {
		t.Fatal(err)
	}
	tooLong := adding(strings.Repeat("x", 1<<16))
	if err := s.InTx(t.Context(), tooLong); !errors.Is(err, domain.ErrUnavailable) {
		t.Errorf("got %v", err)
	}
	counted.want(t, map[string]int{KindFull: 1})

	release := hold(t, s)
	results := []<-chan error{queued(t.Context(), s, tooLong), queued(t.Context(), s, tooLong), queued(t.Context(), s, tooLong)}
	release()
	for _, result := range results {
		if err := <-result; !errors.Is(err, domain.ErrUnavailable) {
			t.Errorf("got %v", err)
		}
	}
	if err := s.Ping(t.Context()); err != nil {
		t.Errorf("a full disk can be read, got %v", err)
	}
	counted.want(t, map[string]int{KindFull: 3})
}

func TestLostTransactionIsCountedByItsCause(t *testing.T) {
	t.Parallel()
	s, counted := openCounting(t, filepath.Join(t.TempDir(), "pets.db"))
	for cause, want := range map[error]string{
		sqlite3.Error{Code: sqlite3.ErrFull}: KindFull,
		domain.PetNotFound(1):                KindOther,
	} {
		err := s.InTx(t.Context(), func(_ context.Context, r domain.Repositories) error {
			return errors.Join(cause, r.Pets.(pets).db.Exec("ROLLBACK").Error)
		})
		if !errors.Is(err, errLost) || errors.Is(err, domain.ErrNotFound) {
			t.Errorf("got %v", err)
		}
		counted.want(t, map[string]int{want: 1})
	}
}

func TestLockedFileIsCountedAsBusy(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "pets.db")
	s, counted := openCounting(t, path)
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
		t.Errorf("got %v", err)
	}
	counted.want(t, map[string]int{KindBusy: 1})
}

func TestReplacedFileAndClosedStoreAreCounted(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "pets.db")
	s, counted := openCounting(t, path)
	if err := os.Remove(path); err != nil {
		t.Fatal(err)
	}
	for _, act := range []func() error{
		func() error { return s.InTx(t.Context(), adding("Rex")) },
		func() error { return s.Ping(t.Context()) },
	} {
		if err := act(); !errors.Is(err, domain.ErrUnavailable) {
			t.Errorf("got %v", err)
		}
		counted.want(t, map[string]int{KindReplaced: 1})
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	for _, act := range []func() error{
		func() error { return s.InTx(t.Context(), adding("Rex")) },
		func() error { _, err := s.Pets().Get(t.Context(), 1); return err },
	} {
		if err := act(); !errors.Is(err, domain.ErrUnavailable) {
			t.Errorf("got %v", err)
		}
		counted.want(t, map[string]int{KindClosed: 1})
	}
}

func TestDeadlineIsCountedAndDisconnectedClientIsNot(t *testing.T) {
	t.Parallel()
	s, counted := openCounting(t, filepath.Join(t.TempDir(), "pets.db"))
	release := hold(t, s)
	defer release()
	const all = 4 // of Options.MaxOpenConns when it is zero
	if err := s.readers.turns.Acquire(t.Context(), all); err != nil {
		t.Fatal(err)
	}
	defer s.readers.turns.Release(all)
	late, stop := context.WithTimeout(t.Context(), time.Millisecond)
	defer stop()
	gone, leave := context.WithCancel(t.Context())
	leave()
	for name, act := range map[string]func(context.Context) error{
		"InTx":      func(ctx context.Context) error { return s.InTx(ctx, adding("Rex")) },
		"Ping":      s.Ping,
		"pets.Get":  func(ctx context.Context) error { _, err := s.Pets().Get(ctx, 1); return err },
		"keys.Find": func(ctx context.Context) error { _, err := s.Keys().Find(ctx, domain.GenerateKey()); return err },
	} {
		for ctx, want := range map[context.Context]map[string]int{late: {KindTimeout: 1}, gone: {}} {
			if err := act(ctx); !errors.Is(err, domain.ErrUnavailable) {
				t.Errorf("%s: got %v", name, err)
			}
			counted.want(t, want)
		}
	}
}

func TestRefusalIsNoErrorOfTheStore(t *testing.T) {
	t.Parallel()
	s, counted := openCounting(t, filepath.Join(t.TempDir(), "pets.db"))
	_, notFound := s.Pets().Get(t.Context(), 1)
	refused := s.InTx(t.Context(), func(context.Context, domain.Repositories) error { return domain.PetNotAvailable(1) })
	if notFound == nil || refused == nil {
		t.Errorf("got %v and %v", notFound, refused)
	}
	counted.want(t, map[string]int{})
}

func TestEveryErrorHasAListedKind(t *testing.T) {
	t.Parallel()
	for err, want := range map[error]string{
		sqlite3.Error{Code: sqlite3.ErrFull}:                                  KindFull,
		sqlite3.Error{Code: sqlite3.ErrBusy}:                                  KindBusy,
		sqlite3.Error{Code: sqlite3.ErrReadonly}:                              KindReadOnly,
		sqlite3.Error{Code: sqlite3.ErrIoErr}:                                 KindIO,
		sqlite3.Error{Code: sqlite3.ErrIoErr, SystemErrno: syscall.ENOSPC}:    KindFull, // for the shared memory of the WAL
		sqlite3.Error{Code: sqlite3.ErrCorrupt}:                               KindCorrupt,
		sqlite3.Error{Code: sqlite3.ErrCantOpen, SystemErrno: syscall.EMFILE}: KindCannotOpen,
		sqlite3.Error{Code: sqlite3.ErrConstraint}:                            KindOther,
		errMoved:                 KindReplaced,
		context.DeadlineExceeded: KindTimeout,
		errQueueFull:             KindQueueFull,
		errClosed:                KindClosed,
		errEnded:                 KindOther,
	} {
		if got := kindOf(domain.Unavailable(err)); got != want || !slices.Contains(ErrorKinds(), got) {
			t.Errorf("%v is %q, want %q", err, got, want)
		}
	}
}
