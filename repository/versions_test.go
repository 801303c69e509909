package repository_test

import (
	"context"
	"path/filepath"
	"runtime"
	"testing"
	"time"

	"example.com/petstore/domain"
	"example.com/petstore/repository"
	"example.com/petstore/repository/sqlite"
)

func TestVersionsRiseWithChanges(t *testing.T) {
	t.Parallel()
	s, _ := openWithSizes(t)
	rises := func(name string, fn txFunc, wantAdded, wantChanged bool) {
		t.Helper()
		added, changed := s.Versions()
		_ = s.InTx(t.Context(), fn)
		addedAfter, changedAfter := s.Versions()
		if (addedAfter > added) != wantAdded || (changedAfter > changed) != wantChanged {
			t.Errorf("%s: added rises %t, changed rises %t", name, addedAfter > added, changedAfter > changed)
		}
	}
	rises("a new pet", adding("a"), true, false)
	rises("a moved pet", func(ctx context.Context, r domain.Repositories) error {
		_, err := r.Pets.Move(ctx, 1, []domain.PetStatus{""}, domain.PetPending)
		return err
	}, false, true)
	rises("a new order", func(ctx context.Context, r domain.Repositories) error {
		_, err := r.Orders.Create(ctx, 1, time.UnixMilli(0))
		return err
	}, true, false)
	rises("nothing", func(context.Context, domain.Repositories) error { return nil }, false, false)
}

func TestCommitsOfOtherProcessesRaiseVersions(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "pets.db")
	var stores [2]*repository.Store
	for i := range stores {
		s, err := repository.Open(t.Context(), sqlite.New(path), repository.Options{Migrate: true})
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = s.Close() })
		stores[i] = s
	}
	added, changed := stores[0].Versions()
	if err := stores[1].InTx(t.Context(), adding("theirs")); err != nil {
		t.Fatal(err)
	}
	until(t, "both numbers have risen", func() bool {
		a, c := stores[0].Versions()
		return a > added && c > changed
	})
}

// until waits for something to be so, which it will be soon.
func until(t *testing.T, what string, so func() bool) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 5*time.Second)
	defer cancel()
	for !so() {
		if ctx.Err() != nil {
			t.Fatalf("timed out until %s", what)
		}
		runtime.Gosched()
	}
}

// A slow checkpoint keeps the writer from polling, while other processes can commit.
func TestVersionsRiseWhileTheWriterCannotPoll(t *testing.T) {
	t.Parallel()
	s, _ := openWithSizes(t)
	release := hold(t, s)
	defer release()
	keys := s.KeyVersion()
	added, changed := s.Versions()
	until(t, "all three numbers have risen", func() bool {
		a, c := s.Versions()
		return a > added && c > changed && s.KeyVersion() > keys
	})
}

func TestPollIsOverdueAfterTwoTicksWithoutOne(t *testing.T) {
	t.Parallel()
	var check repository.PollCheck
	for i, step := range []struct {
		polls   uint64
		overdue bool
	}{{1, false}, {3, false}, {0, false}, {1, false}, {0, false}, {0, true}, {0, true}, {1, false}} {
		if got := check.Tick(step.polls); got != step.overdue {
			t.Fatalf("tick %d: overdue is %t", i, got)
		}
	}
}
