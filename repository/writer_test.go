package repository_test

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
	"example.com/petstore/repository"
	"example.com/petstore/repository/sqlite"
)

// openWithSizes opens a store and returns with it the sizes of its batches.
func openWithSizes(t *testing.T) (*repository.Store, *sizes) {
	t.Helper()
	commits := &sizes{}
	store, err := repository.Open(t.Context(), sqlite.New(filepath.Join(t.TempDir(), "pets.db")), repository.Options{
		Migrate:       true,
		ObserveCommit: func(batch int, _ time.Duration) { commits.add(batch) },
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

func (s *sizes) total() (commits, all int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, size := range s.all {
		all += size
	}
	return len(s.all), all
}

// A txFunc is what InTx takes.
type txFunc = func(context.Context, domain.Repositories) error

// adding adds a pet.
func adding(name string) txFunc {
	return func(ctx context.Context, r domain.Repositories) error {
		_, err := r.Pets.Create(ctx, domain.NewPet{Name: name})
		return err
	}
}

// hold keeps the writer busy until release is called, so that what is queued meanwhile
// shares the next commit.
func hold(t *testing.T, s *repository.Store) (release func()) {
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

// queued starts InTx and returns, once it is queued, the channel of its result.
func queued(ctx context.Context, s *repository.Store, fn txFunc) <-chan error {
	before := s.Queued()
	result := make(chan error, 1)
	go func() { result <- s.InTx(ctx, fn) }()
	for s.Queued() == before {
		runtime.Gosched()
	}
	return result
}

func wantNames(t *testing.T, s *repository.Store, want ...string) {
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
			t.Errorf("%s is %d times in the store", name, got[name])
		}
	}
	if len(page.Items) != len(want) {
		t.Errorf("the store has %v, want %v", got, want)
	}
}

func TestQueuedTransactionsShareACommit(t *testing.T) {
	t.Parallel()
	s, commits := openWithSizes(t)
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
	if n, all := commits.total(); n != 2 || all != 4 {
		t.Errorf("%d commits of %d transactions, want 2 for 4", n, all)
	}
	// A single one does not wait for two more.
	if err := s.InTx(t.Context(), adding("d")); err != nil {
		t.Error(err)
	}
	wantNames(t, s, "a", "b", "c", "d")
}

func TestFailedTransactionIsRolledBackAlone(t *testing.T) {
	t.Parallel()
	s, _ := openWithSizes(t)
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
		t.Errorf("the failed transaction got %v", err)
	}
	if recovered := <-panicking; recovered != "at the disco" {
		t.Errorf("the caller of the panic recovered %v", recovered)
	}
	wantNames(t, s, "first", "last")
}

// The batch runs again only for a function that failed after it changed something.
func TestTransactionThatFailsUnchangedDoesNotRepeatTheBatch(t *testing.T) {
	t.Parallel()
	refusal := errors.New("no")
	refused := func(context.Context, domain.Repositories) error { return refusal }
	for name, c := range map[string]struct {
		failing  txFunc
		wantRuns int32
	}{
		"fails at once": {refused, 1},
		"changes no row": {func(ctx context.Context, r domain.Repositories) error {
			_, err := r.Pets.Move(ctx, 4711, domain.Orderable(), domain.PetPending)
			return errors.Join(err, refusal)
		}, 1},
		"fails half-way": {func(ctx context.Context, r domain.Repositories) error {
			return errors.Join(adding("undone")(ctx, r), refusal)
		}, 2},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s, _ := openWithSizes(t)
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
				t.Errorf("the failed transaction got %v", err)
			}
			if got := runs.Load(); got != c.wantRuns {
				t.Errorf("the function before it ran %d times, want %d", got, c.wantRuns)
			}
			wantNames(t, s, "first", "last")
		})
	}
}

func TestCanceledTransactionDoesNotRun(t *testing.T) {
	t.Parallel()
	s, commits := openWithSizes(t)
	release := hold(t, s)
	ctx, cancel := context.WithCancel(t.Context())
	left := queued(ctx, s, adding("canceled"))
	stayed := queued(t.Context(), s, adding("other"))
	cancel()
	if err := <-left; !errors.Is(err, domain.ErrUnavailable) || !errors.Is(err, context.Canceled) {
		t.Errorf("the canceled one got %v", err)
	}
	release()
	if err := <-stayed; err != nil {
		t.Errorf("the other got %v", err)
	}
	wantNames(t, s, "other")
	if n, all := commits.total(); n != 2 || all != 2 {
		t.Errorf("%d commits of %d transactions, want 2 for 2: the canceled one did not run", n, all)
	}
}

func TestStartedTransactionIsNotCanceled(t *testing.T) {
	t.Parallel()
	s, _ := openWithSizes(t)
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

func TestFailedCommitFailsTheBatch(t *testing.T) {
	t.Parallel()
	s, _ := openWithSizes(t)
	release := hold(t, s)
	innocent := queued(t.Context(), s, adding("lost"))
	// A foreign key that is checked only by the commit.
	guilty := queued(t.Context(), s, func(ctx context.Context, r domain.Repositories) error {
		if err := repository.ExecIn(ctx, r, "PRAGMA defer_foreign_keys = ON"); err != nil {
			return err
		}
		_, err := r.Orders.Create(ctx, 4711, time.UnixMilli(0))
		return err
	})
	// Fails because of what another function of the batch did, which is rolled back.
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

func TestLostTransactionFailsTheBatch(t *testing.T) {
	t.Parallel()
	s, _ := openWithSizes(t)
	release := hold(t, s)
	innocent := queued(t.Context(), s, adding("lost"))
	// What SQLite does by itself when the disk is full: it ends the transaction.
	guilty := queued(t.Context(), s, func(ctx context.Context, r domain.Repositories) error {
		return errors.Join(domain.PetNotFound(1), repository.ExecIn(ctx, r, "ROLLBACK"))
	})
	after := queued(t.Context(), s, adding("never begun"))
	release()
	for _, result := range []<-chan error{innocent, after} {
		if err := <-result; !errors.Is(err, domain.ErrUnavailable) || errors.Is(err, domain.ErrNotFound) {
			t.Errorf("got %v, want unavailable and nothing of another's", err)
		}
	}
	if err := <-guilty; !errors.Is(err, domain.ErrUnavailable) {
		t.Errorf("the one that ended the transaction got %v", err)
	}
	wantNames(t, s)
	if err := s.InTx(t.Context(), adding("next")); err != nil {
		t.Errorf("after the lost transaction: %v", err)
	}
}

// A test that fails inside a transaction function ends the writer's goroutine.
func TestGoexitFailsTheBatchOnly(t *testing.T) {
	t.Parallel()
	s, _ := openWithSizes(t)
	release := hold(t, s)
	innocent := queued(t.Context(), s, adding("lost"))
	ending := queued(t.Context(), s, func(context.Context, domain.Repositories) error { runtime.Goexit(); return nil })
	release()
	for _, result := range []<-chan error{innocent, ending} {
		if err := <-result; !errors.Is(err, domain.ErrUnavailable) || !errors.Is(err, repository.ErrGoexit) {
			t.Errorf("got %v", err)
		}
	}
	if err := s.InTx(t.Context(), adding("next")); err != nil {
		t.Errorf("after it: %v", err)
	}
	wantNames(t, s, "next")
}

func TestNestedTransactionIsRejected(t *testing.T) {
	t.Parallel()
	s, _ := openWithSizes(t)
	err := s.InTx(t.Context(), func(ctx context.Context, r domain.Repositories) error {
		return errors.Join(adding("undone")(ctx, r), s.InTx(ctx, adding("nested")))
	})
	if !errors.Is(err, repository.ErrNested) {
		t.Errorf("got %v", err)
	}
	wantNames(t, s)
}

func TestFullQueueRejects(t *testing.T) {
	t.Parallel()
	s, _ := openWithSizes(t)
	release := hold(t, s)
	ran := atomic.Int32{}
	count := func(context.Context, domain.Repositories) error { ran.Add(1); return nil }
	var wait sync.WaitGroup
	for range repository.QueueSize {
		wait.Go(func() {
			if err := s.InTx(t.Context(), count); err != nil {
				t.Error(err)
			}
		})
	}
	for s.Queued() < repository.QueueSize {
		runtime.Gosched()
	}
	if err := s.InTx(t.Context(), count); !errors.Is(err, domain.ErrUnavailable) || !errors.Is(err, repository.ErrQueueFull) {
		t.Errorf("one more got %v", err)
	}
	release()
	wait.Wait()
	if ran.Load() != repository.QueueSize {
		t.Errorf("%d ran, want %d", ran.Load(), repository.QueueSize)
	}
}

func TestCloseCommitsTheQueue(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "pets.db")
	s, err := repository.Open(t.Context(), sqlite.New(path), repository.Options{Migrate: true})
	if err != nil {
		t.Fatal(err)
	}
	release := hold(t, s)
	waiting := queued(t.Context(), s, adding("waited"))
	closed := make(chan error)
	go func() { closed <- s.Close() }()
	<-s.Closing()
	if err := s.InTx(t.Context(), adding("too late")); !errors.Is(err, domain.ErrUnavailable) {
		t.Errorf("a closing store returned %v", err)
	}
	release()
	if err := errors.Join(<-waiting, <-closed); err != nil {
		t.Error(err)
	}
	again, err := repository.Open(t.Context(), sqlite.New(path), repository.Options{})
	if err != nil {
		t.Fatal(err)
	}
	wantNames(t, again, "waited")
	if err := again.Close(); err != nil {
		t.Error(err)
	}
}
