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
			t.Fatalf("waited in vain until %s", what)
		}
		runtime.Gosched()
	}
}

// A disk that is slow when SQLite moves the WAL into the file keeps the writer from
// looking, while others can commit already.
func TestNothingKeptStandsWhileTheWriterCannotLook(t *testing.T) {
	t.Parallel()
	s, _ := openObserved(t)
	release := hold(t, s)
	defer release()
	keys := s.versions.keys.Load()
	added, changed := s.Versions()
	until(t, "all three numbers have risen", func() bool {
		a, c := s.Versions()
		return a > added && c > changed && s.versions.keys.Load() > keys
	})
}

// Store.Versions promises it, also when a look was the last one before the disk
// holds the writer up.
func TestNumbersRiseWithin100MillisecondsOfTheLastLook(t *testing.T) {
	t.Parallel()
	w := &writer{versions: &versions{}}
	beat := w.watch()
	w.versions.looks.Add(1)
	var passed time.Duration
	for w.versions.added.Load() == 0 {
		beat()
		passed += lockWait
	}
	if passed > 100*time.Millisecond {
		t.Errorf("the numbers rose after %v", passed)
	}
}

func TestNumbersRiseWithoutALookForTwoBeats(t *testing.T) {
	t.Parallel()
	w := &writer{versions: &versions{}}
	beat := w.watch()
	for _, step := range []struct {
		looks uint64
		want  uint64 // rises so far
	}{{1, 0}, {3, 0}, {0, 0}, {1, 0}, {0, 0}, {0, 1}, {0, 2}, {1, 2}} {
		w.versions.looks.Add(step.looks)
		beat()
		if got := w.versions.added.Load(); got != step.want {
			t.Fatalf("the numbers rose %d times, want %d at %v", got, step.want, step)
		}
	}
}
