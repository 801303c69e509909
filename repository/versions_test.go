package repository

import (
	"context"
	"path/filepath"
	"runtime"
	"testing"
	"time"

	"example.com/petstore/domain"
)

func TestVersionsRiseWithWhatIsDone(t *testing.T) {
	t.Parallel()
	s, _ := openObserved(t)
	rises := func(name string, a act, wantAdded, wantChanged bool) {
		t.Helper()
		added, changed := s.Versions()
		_ = s.InTx(t.Context(), a)
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

func TestOtherProcessesCommitsAreNoticed(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "pets.db")
	var stores [2]*Store
	for i := range stores {
		s, err := Open(t.Context(), Options{DSN: path, Migrate: true})
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
	for {
		a, c := stores[0].Versions()
		if a > added && c > changed {
			break
		}
		if t.Context().Err() != nil {
			t.Fatal("the commit was not noticed")
		}
		runtime.Gosched()
	}
}
