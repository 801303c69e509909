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

func TestVersionsIncreaseWithChanges(t *testing.T) {
	t.Parallel()
	s, _ := openWithBatches(t)
	check := func(name string, fn txFunc, wantAdded, wantChanged bool) {
		t.Helper()
		added, changed, _ := s.Versions(t.Context())
		_ = s.InTx(t.Context(), fn)
		addedAfter, changedAfter, _ := s.Versions(t.Context())
		if (addedAfter > added) != wantAdded || (changedAfter > changed) != wantChanged {
			t.Errorf("%s: got increases of added %t and changed %t, want %t and %t",
				name, addedAfter > added, changedAfter > changed, wantAdded, wantChanged)
		}
	}
	check("a new pet", adding("a"), true, false)
	check("a pet with another status", func(ctx context.Context, r domain.Repositories) error {
		_, err := r.Pets.Move(ctx, 1, []domain.PetStatus{""}, domain.PetPending)
		return err
	}, false, true)
	check("a new order", func(ctx context.Context, r domain.Repositories) error {
		_, err := r.Orders.Create(ctx, 1, time.UnixMilli(0))
		return err
	}, true, false)
	check("no change", func(context.Context, domain.Repositories) error { return nil }, false, false)
}

func TestCommitsOfOtherStoresIncreaseVersions(t *testing.T) {
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
	added, changed, _ := stores[0].Versions(t.Context())
	if err := stores[1].InTx(t.Context(), adding("Rex")); err != nil {
		t.Fatal(err)
	}
	waitUntil(t, "both numbers have increased", func() bool {
		a, c, _ := stores[0].Versions(t.Context())
		return a > added && c > changed
	})
}

// waitUntil waits until a condition holds, for 5 seconds at most.
func waitUntil(t *testing.T, name string, condition func() bool) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 5*time.Second)
	defer cancel()
	for !condition() {
		if ctx.Err() != nil {
			t.Fatalf("timed out waiting until %s", name)
		}
		runtime.Gosched()
	}
}

// The writer cannot poll during a slow checkpoint, but other processes can commit.
func TestVersionsIncreaseWhileTheWriterCannotPoll(t *testing.T) {
	t.Parallel()
	s, _ := openWithBatches(t)
	release := blockWriter(t, s)
	defer release()
	keys := s.KeyVersion()
	added, changed, _ := s.Versions(t.Context())
	waitUntil(t, "all three numbers have increased", func() bool {
		a, c, _ := s.Versions(t.Context())
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
			t.Fatalf("tick %d: got overdue %t, want %t", i, got, step.overdue)
		}
	}
}
