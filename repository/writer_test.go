package repository

import (
	"context"
	"errors"
	"path/filepath"
	"runtime"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"example.com/petstore/domain"
)

// openObserved opens a store and returns with it the sizes of its commits.
func openObserved(t *testing.T) (*Store, *sizes) {
	t.Helper()
	commits := &sizes{}
	store, err := Open(t.Context(), Options{
		DSN: filepath.Join(t.TempDir(), "pets.db"), Migrate: true,
		ObserveCommit: func(acts int, _ time.Duration) { commits.add(acts) },
	})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := store.Close(); err != nil {
			t.Error(err)
		}
	})
	return store, commits
}

type sizes struct {
	mu  sync.Mutex
	all []int
}

func (s *sizes) add(size int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.all = append(s.all, size)
}

func (s *sizes) total() (commits, acts int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, size := range s.all {
		acts += size
	}
	return len(s.all), acts
}

// adding is an act that adds a pet.
func adding(name string) act {
	return func(ctx context.Context, r domain.Repositories) error {
		_, err := r.Pets.Create(ctx, domain.NewPet{Name: name})
		return err
	}
}

// hold keeps the writer busy with an act until release is called, so that what is
// queued meanwhile shares the next commit.
func hold(t *testing.T, s *Store) (release func()) {
	t.Helper()
	began, end, ended := make(chan struct{}), make(chan struct{}), make(chan struct{})
	go func() {
		defer close(ended)
		err := s.InTx(context.WithoutCancel(t.Context()), func(context.Context, domain.Repositories) error {
			close(began)
			<-end
			return nil
		})
		if err != nil {
			t.Error(err)
		}
	}()
	<-began
	return func() { close(end); <-ended }
}

// queued starts InTx for an act and returns, once it waits, where its error will come.
func queued(ctx context.Context, s *Store, a act) <-chan error {
	before := len(s.writer.queue)
	result := make(chan error, 1)
	go func() { result <- s.InTx(ctx, a) }()
	for len(s.writer.queue) == before {
		runtime.Gosched()
	}
	return result
}

func wantNames(t *testing.T, s *Store, want ...string) {
	t.Helper()
	page, err := s.Pets().List(t.Context(), domain.PetQuery{PageRequest: domain.PageRequest{Limit: domain.MaxLimit}})
	if err != nil {
		t.Fatal(err)
	}
	got := map[string]int{}
	for _, pet := range page.Items {
		got[pet.Name]++
	}
	for _, name := range want {
		if got[name] != 1 {
			t.Errorf("%s stands %d times in the store", name, got[name])
		}
	}
	if len(page.Items) != len(want) {
		t.Errorf("the store has %v, want %v", got, want)
	}
}

func TestWaitingActsShareACommit(t *testing.T) {
	t.Parallel()
	s, commits := openObserved(t)
	release := hold(t, s)
	var results []<-chan error
	for _, name := range []string{"a", "b", "c"} {
		results = append(results, queued(t.Context(), s, adding(name)))
	}
	release()
	for _, result := range results {
		if err := <-result; err != nil {
			t.Error(err)
		}
	}
	wantNames(t, s, "a", "b", "c")
	if n, acts := commits.total(); n != 2 || acts != 4 {
		t.Errorf("%d commits for %d acts, want 2 for 4", n, acts)
	}
	// The next one comes alone, and need not wait for two more.
	if err := s.InTx(t.Context(), adding("d")); err != nil {
		t.Error(err)
	}
	wantNames(t, s, "a", "b", "c", "d")
}

func TestFailedActIsUndoneAlone(t *testing.T) {
	t.Parallel()
	s, _ := openObserved(t)
	failure := errors.New("no")
	release := hold(t, s)
	first := queued(t.Context(), s, adding("first"))
	failing := queued(t.Context(), s, func(ctx context.Context, r domain.Repositories) error {
		return errors.Join(adding("undone")(ctx, r), failure)
	})
	panicking := make(chan any)
	go func() {
		defer func() { panicking <- recover() }()
		_ = s.InTx(t.Context(), func(ctx context.Context, r domain.Repositories) error {
			_ = adding("undone, too")(ctx, r)
			panic("at the disco")
		})
	}()
	last := queued(t.Context(), s, adding("last"))
	release()
	if err := errors.Join(<-first, <-last); err != nil {
		t.Errorf("the others got %v", err)
	}
	if err := <-failing; !errors.Is(err, failure) {
		t.Errorf("the failed act got %v", err)
	}
	if recovered := <-panicking; recovered != "at the disco" {
		t.Errorf("the caller of the panic recovered %v", recovered)
	}
	wantNames(t, s, "first", "last")
}

// What others did is done again only for an act that failed after it changed something.
func TestRefusedActCostsTheOthersNothing(t *testing.T) {
	t.Parallel()
	refusal := errors.New("no")
	refused := func(context.Context, domain.Repositories) error { return refusal }
	for name, c := range map[string]struct {
		failing  act
		wantRuns int32
	}{
		"refused at once": {refused, 1},
		"nothing moved": {func(ctx context.Context, r domain.Repositories) error {
			_, err := r.Pets.Move(ctx, 4711, domain.Orderable(), domain.PetPending)
			return errors.Join(err, refusal)
		}, 1},
		"failed half-way": {func(ctx context.Context, r domain.Repositories) error {
			return errors.Join(adding("undone")(ctx, r), refusal)
		}, 2},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s, _ := openObserved(t)
			var runs atomic.Int32
			release := hold(t, s)
			first := queued(t.Context(), s, func(ctx context.Context, r domain.Repositories) error {
				runs.Add(1)
				return adding("first")(ctx, r)
			})
			failing := queued(t.Context(), s, c.failing)
			last := queued(t.Context(), s, adding("last"))
			release()
			if err := errors.Join(<-first, <-last); err != nil {
				t.Error(err)
			}
			if err := <-failing; !errors.Is(err, refusal) {
				t.Errorf("the failed act got %v", err)
			}
			if got := runs.Load(); got != c.wantRuns {
				t.Errorf("the act before it ran %d times, want %d", got, c.wantRuns)
			}
			wantNames(t, s, "first", "last")
		})
	}
}

func TestCallerWhoLeavesInTimeIsNotServed(t *testing.T) {
	t.Parallel()
	s, commits := openObserved(t)
	release := hold(t, s)
	ctx, cancel := context.WithCancel(t.Context())
	left := queued(ctx, s, adding("left"))
	stayed := queued(t.Context(), s, adding("stayed"))
	cancel()
	if err := <-left; !errors.Is(err, domain.ErrUnavailable) || !errors.Is(err, context.Canceled) {
		t.Errorf("who left got %v", err)
	}
	release()
	if err := <-stayed; err != nil {
		t.Errorf("who stayed got %v", err)
	}
	wantNames(t, s, "stayed")
	if n, acts := commits.total(); n != 2 || acts != 2 {
		t.Errorf("%d commits for %d acts, want 2 for 2: that of who left did not run", n, acts)
	}
}

func TestCallerWhoLeavesTooLateIsServed(t *testing.T) {
	t.Parallel()
	s, _ := openObserved(t)
	ctx, cancel := context.WithCancel(t.Context())
	err := s.InTx(ctx, func(ctx context.Context, r domain.Repositories) error {
		cancel()
		return adding("late")(ctx, r)
	})
	if err != nil {
		t.Errorf("got %v", err)
	}
	wantNames(t, s, "late")
}

func TestFailedCommitFailsEveryAct(t *testing.T) {
	t.Parallel()
	s, _ := openObserved(t)
	release := hold(t, s)
	innocent := queued(t.Context(), s, adding("lost"))
	// A foreign key that is looked at only when the commit comes.
	guilty := queued(t.Context(), s, func(ctx context.Context, r domain.Repositories) error {
		if err := r.Pets.(pets).db.Exec("PRAGMA defer_foreign_keys = ON").Error; err != nil {
			return err
		}
		_, err := r.Orders.Create(ctx, 4711, time.UnixMilli(0))
		return err
	})
	// Refused for what another act of the batch did, which is undone now.
	refused := queued(t.Context(), s, func(context.Context, domain.Repositories) error { return domain.PetNotAvailable(1) })
	release()
	for _, result := range []<-chan error{innocent, guilty, refused} {
		if err := <-result; !errors.Is(err, domain.ErrUnavailable) || errors.Is(err, domain.ErrConflict) {
			t.Errorf("got %v, want unavailable", err)
		}
	}
	wantNames(t, s)
	if err := s.InTx(t.Context(), adding("next")); err != nil {
		t.Errorf("after the failed commit: %v", err)
	}
	wantNames(t, s, "next")
}

func TestLostTransactionFailsEveryAct(t *testing.T) {
	t.Parallel()
	s, _ := openObserved(t)
	release := hold(t, s)
	innocent := queued(t.Context(), s, adding("lost"))
	// What SQLite does by itself when the disk is full: it ends the transaction.
	guilty := queued(t.Context(), s, func(_ context.Context, r domain.Repositories) error {
		return errors.Join(domain.PetNotFound(1), r.Pets.(pets).db.Exec("ROLLBACK").Error)
	})
	after := queued(t.Context(), s, adding("never begun"))
	release()
	for _, result := range []<-chan error{innocent, after} {
		if err := <-result; !errors.Is(err, domain.ErrUnavailable) || errors.Is(err, domain.ErrNotFound) {
			t.Errorf("got %v, want unavailable and nothing of another's", err)
		}
	}
	if err := <-guilty; !errors.Is(err, domain.ErrUnavailable) {
		t.Errorf("the act that ended the transaction got %v", err)
	}
	wantNames(t, s)
	if err := s.InTx(t.Context(), adding("next")); err != nil {
		t.Errorf("after the lost transaction: %v", err)
	}
}

// A test that fails inside an act ends the goroutine that runs it, which is not its own.
func TestActThatEndsItsGoroutineHarmsNobody(t *testing.T) {
	t.Parallel()
	s, _ := openObserved(t)
	release := hold(t, s)
	innocent := queued(t.Context(), s, adding("lost"))
	ending := queued(t.Context(), s, func(context.Context, domain.Repositories) error { runtime.Goexit(); return nil })
	release()
	for _, result := range []<-chan error{innocent, ending} {
		if err := <-result; !errors.Is(err, domain.ErrUnavailable) || !errors.Is(err, errEnded) {
			t.Errorf("got %v", err)
		}
	}
	if err := s.InTx(t.Context(), adding("next")); err != nil {
		t.Errorf("after it: %v", err)
	}
	wantNames(t, s, "next")
}

func TestNestedTransactionIsRefused(t *testing.T) {
	t.Parallel()
	s, _ := openObserved(t)
	err := s.InTx(t.Context(), func(ctx context.Context, r domain.Repositories) error {
		return errors.Join(adding("undone")(ctx, r), s.InTx(ctx, adding("nested")))
	})
	if !errors.Is(err, errNested) {
		t.Errorf("got %v", err)
	}
	wantNames(t, s)
}

func TestFullQueueRefuses(t *testing.T) {
	t.Parallel()
	s, _ := openObserved(t)
	release := hold(t, s)
	ran := atomic.Int32{}
	count := func(context.Context, domain.Repositories) error { ran.Add(1); return nil }
	var wait sync.WaitGroup
	for range queueSize {
		wait.Go(func() {
			if err := s.InTx(t.Context(), count); err != nil {
				t.Error(err)
			}
		})
	}
	for len(s.writer.queue) < queueSize {
		runtime.Gosched()
	}
	if err := s.InTx(t.Context(), count); !errors.Is(err, domain.ErrUnavailable) || !errors.Is(err, errQueueFull) {
		t.Errorf("one more got %v", err)
	}
	release()
	wait.Wait()
	if ran.Load() != queueSize {
		t.Errorf("%d acts ran, want %d", ran.Load(), queueSize)
	}
}

func TestClosingStoreWritesWhatWaits(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "pets.db")
	s, err := Open(t.Context(), Options{DSN: path, Migrate: true})
	if err != nil {
		t.Fatal(err)
	}
	release := hold(t, s)
	waiting := queued(t.Context(), s, adding("waited"))
	closed := make(chan error)
	go func() { closed <- s.Close() }()
	<-s.writer.quit
	if err := s.InTx(t.Context(), adding("too late")); !errors.Is(err, domain.ErrUnavailable) {
		t.Errorf("a closing store answered %v", err)
	}
	release()
	if err := errors.Join(<-waiting, <-closed); err != nil {
		t.Error(err)
	}
	again, err := Open(t.Context(), Options{DSN: path})
	if err != nil {
		t.Fatal(err)
	}
	wantNames(t, again, "waited")
	if err := again.Close(); err != nil {
		t.Error(err)
	}
}
