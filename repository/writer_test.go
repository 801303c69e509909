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

// openWithBatches opens a store and returns it with the sizes of its batches.
func openWithBatches(t *testing.T) (*repository.Store, *batchSizes) {
	t.Helper()
	batches := &batchSizes{}
	store, err := repository.Open(t.Context(), sqlite.New(filepath.Join(t.TempDir(), "pets.db")), repository.Options{
		Migrate:       true,
		ObserveCommit: func(batch int, _ time.Duration) { batches.add(batch) },
	})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := store.Close(); err != nil {
			t.Error(err)
		}
	})
	return store, batches
}

// batchSizes are the numbers of transactions that shared a commit.
type batchSizes struct {
	mu  sync.Mutex
	all []int
}

func (s *batchSizes) add(size int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.all = append(s.all, size)
}

func (s *batchSizes) total() (commits, transactions int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, size := range s.all {
		transactions += size
	}
	return len(s.all), transactions
}

// A txFunc is the argument of InTx.
type txFunc = func(context.Context, domain.Repositories) error

// adding returns a function that adds a pet.
func adding(name string) txFunc {
	return func(ctx context.Context, r domain.Repositories) error {
		_, err := r.Pets.Create(ctx, domain.NewPet{Name: name})
		return err
	}
}

// blockWriter keeps the writer busy until release is called, so that the transactions
// that are queued meanwhile share the next commit.
func blockWriter(t *testing.T, s *repository.Store) (release func()) {
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

// enqueue calls InTx in a goroutine, waits until the function is queued, and returns the
// channel of its result.
func enqueue(ctx context.Context, s *repository.Store, fn txFunc) <-chan error {
	before := s.Queued()
	result := make(chan error, 1)
	go func() { result <- s.InTx(ctx, fn) }()
	for s.Queued() == before {
		runtime.Gosched()
	}
	return result
}

// wantNames compares the names of all pets with want.
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
			t.Errorf("got %d pets named %s, want 1", got[name], name)
		}
	}
	if len(page.Items) != len(want) {
		t.Errorf("got the pets %v, want %v", got, want)
	}
}

func TestQueuedTransactionsShareACommit(t *testing.T) {
	t.Parallel()
	s, batches := openWithBatches(t)
	release := blockWriter(t, s)
	var results []<-chan error
	for _, name := range []string{"a", "b", "c"} {
		results = append(results, enqueue(t.Context(), s, adding(name)))
	}
	if waiting := s.Waiting(); waiting != 4 {
		t.Errorf("got %d waiting transactions, want 4", waiting)
	}
	release()
	for _, result := range results {
		if err := <-result; err != nil {
			t.Error(err)
		}
	}
	if waiting := s.Waiting(); waiting != 0 {
		t.Errorf("got %d waiting transactions after the commit, want 0", waiting)
	}
	wantNames(t, s, "a", "b", "c")
	if commits, transactions := batches.total(); commits != 2 || transactions != 4 {
		t.Errorf("got %d commits of %d transactions, want 2 of 4", commits, transactions)
	}
	// A single transaction is not delayed until the batch is as large as the last one.
	if err := s.InTx(t.Context(), adding("d")); err != nil {
		t.Error(err)
	}
	wantNames(t, s, "a", "b", "c", "d")
}

func TestFailedTransactionIsRolledBackAlone(t *testing.T) {
	t.Parallel()
	s, _ := openWithBatches(t)
	failure := errors.New("failure")
	release := blockWriter(t, s)
	first := enqueue(t.Context(), s, adding("first"))
	failing := enqueue(t.Context(), s, func(ctx context.Context, r domain.Repositories) error {
		return errors.Join(adding("rolled back")(ctx, r), failure)
	})
	panicking := make(chan any)
	go func() {
		defer func() { panicking <- recover() }()
		_ = s.InTx(t.Context(), func(ctx context.Context, r domain.Repositories) error {
			_ = adding("also rolled back")(ctx, r)
			panic("failure")
		})
	}()
	last := enqueue(t.Context(), s, adding("last"))
	release()
	if err := errors.Join(<-first, <-last); err != nil {
		t.Errorf("the other transactions: got %v, want no error", err)
	}
	if err := <-failing; !errors.Is(err, failure) {
		t.Errorf("the failed transaction: got %v, want %v", err, failure)
	}
	if recovered := <-panicking; recovered != "failure" {
		t.Errorf("the transaction that panicked: got the panic %v, want failure", recovered)
	}
	wantNames(t, s, "first", "last")
}

// The batch runs again only for a function that failed after it changed something.
func TestTransactionThatFailsUnchangedDoesNotRepeatTheBatch(t *testing.T) {
	t.Parallel()
	failure := errors.New("failure")
	fail := func(context.Context, domain.Repositories) error { return failure }
	for name, c := range map[string]struct {
		failing  txFunc
		wantRuns int32
	}{
		"fails immediately": {fail, 1},
		"changes no row": {func(ctx context.Context, r domain.Repositories) error {
			_, err := r.Pets.Move(ctx, 4711, domain.Orderable(), domain.PetPending)
			return errors.Join(err, failure)
		}, 1},
		"fails after a change": {func(ctx context.Context, r domain.Repositories) error {
			return errors.Join(adding("rolled back")(ctx, r), failure)
		}, 2},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s, _ := openWithBatches(t)
			var runs atomic.Int32
			release := blockWriter(t, s)
			first := enqueue(t.Context(), s, func(ctx context.Context, r domain.Repositories) error {
				runs.Add(1)
				return adding("first")(ctx, r)
			})
			failing := enqueue(t.Context(), s, c.failing)
			last := enqueue(t.Context(), s, adding("last"))
			release()
			if err := errors.Join(<-first, <-last); err != nil {
				t.Error(err)
			}
			if err := <-failing; !errors.Is(err, failure) {
				t.Errorf("the failed transaction: got %v, want %v", err, failure)
			}
			if got := runs.Load(); got != c.wantRuns {
				t.Errorf("the function before it: got %d runs, want %d", got, c.wantRuns)
			}
			wantNames(t, s, "first", "last")
		})
	}
}

func TestCanceledTransactionDoesNotRun(t *testing.T) {
	t.Parallel()
	s, batches := openWithBatches(t)
	release := blockWriter(t, s)
	ctx, cancel := context.WithCancel(t.Context())
	canceled := enqueue(ctx, s, adding("canceled"))
	other := enqueue(t.Context(), s, adding("other"))
	cancel()
	if err := <-canceled; !errors.Is(err, domain.ErrUnavailable) || !errors.Is(err, context.Canceled) {
		t.Errorf("the canceled transaction: got %v, want unavailable and canceled", err)
	}
	release()
	if err := <-other; err != nil {
		t.Errorf("the other transaction: got %v, want no error", err)
	}
	wantNames(t, s, "other")
	if commits, transactions := batches.total(); commits != 2 || transactions != 2 {
		t.Errorf("got %d commits of %d transactions, want 2 of 2 without the canceled one", commits, transactions)
	}
}

func TestStartedTransactionIsNotCanceled(t *testing.T) {
	t.Parallel()
	s, _ := openWithBatches(t)
	ctx, cancel := context.WithCancel(t.Context())
	err := s.InTx(ctx, func(ctx context.Context, r domain.Repositories) error {
		cancel()
		return adding("Rex")(ctx, r)
	})
	if err != nil {
		t.Errorf("got %v, want no error", err)
	}
	wantNames(t, s, "Rex")
}

func TestFailedCommitFailsTheBatch(t *testing.T) {
	t.Parallel()
	s, _ := openWithBatches(t)
	release := blockWriter(t, s)
	other := enqueue(t.Context(), s, adding("lost"))
	// The violation of a deferred foreign key makes the commit fail.
	failing := enqueue(t.Context(), s, func(ctx context.Context, r domain.Repositories) error {
		if err := repository.ExecIn(ctx, r, "PRAGMA defer_foreign_keys = ON"); err != nil {
			return err
		}
		_, err := r.Orders.Create(ctx, 4711, time.UnixMilli(0))
		return err
	})
	// A failure that a change of another function may have caused, which is rolled back.
	conflict := enqueue(t.Context(), s, func(context.Context, domain.Repositories) error { return domain.PetNotAvailable(1) })
	release()
	for _, result := range []<-chan error{other, failing, conflict} {
		if err := <-result; !errors.Is(err, domain.ErrUnavailable) || errors.Is(err, domain.ErrConflict) {
			t.Errorf("got %v, want unavailable", err)
		}
	}
	wantNames(t, s)
	if err := s.InTx(t.Context(), adding("next")); err != nil {
		t.Errorf("after the failed commit: got %v, want no error", err)
	}
	wantNames(t, s, "next")
}

func TestTransactionRolledBackBySQLiteFailsTheBatch(t *testing.T) {
	t.Parallel()
	s, _ := openWithBatches(t)
	release := blockWriter(t, s)
	other := enqueue(t.Context(), s, adding("lost"))
	// SQLite rolls back by itself, such as when the disk is full.
	failing := enqueue(t.Context(), s, func(ctx context.Context, r domain.Repositories) error {
		return errors.Join(domain.PetNotFound(1), repository.ExecIn(ctx, r, "ROLLBACK"))
	})
	next := enqueue(t.Context(), s, adding("not started"))
	release()
	for _, result := range []<-chan error{other, next} {
		if err := <-result; !errors.Is(err, domain.ErrUnavailable) || errors.Is(err, domain.ErrNotFound) {
			t.Errorf("got %v, want unavailable without the error of another transaction", err)
		}
	}
	if err := <-failing; !errors.Is(err, domain.ErrUnavailable) {
		t.Errorf("the transaction that was rolled back: got %v, want unavailable", err)
	}
	wantNames(t, s)
	if err := s.InTx(t.Context(), adding("next")); err != nil {
		t.Errorf("after the rollback: got %v, want no error", err)
	}
}

// t.Fatal in a transaction function calls runtime.Goexit in the goroutine of the writer.
func TestGoexitFailsTheBatchOnly(t *testing.T) {
	t.Parallel()
	s, _ := openWithBatches(t)
	release := blockWriter(t, s)
	other := enqueue(t.Context(), s, adding("lost"))
	exiting := enqueue(t.Context(), s, func(context.Context, domain.Repositories) error { runtime.Goexit(); return nil })
	release()
	for _, result := range []<-chan error{other, exiting} {
		if err := <-result; !errors.Is(err, domain.ErrUnavailable) || !errors.Is(err, repository.ErrGoexit) {
			t.Errorf("got %v, want unavailable and %v", err, repository.ErrGoexit)
		}
	}
	if err := s.InTx(t.Context(), adding("next")); err != nil {
		t.Errorf("after Goexit: got %v, want no error", err)
	}
	wantNames(t, s, "next")
}

func TestNestedTransactionIsRejected(t *testing.T) {
	t.Parallel()
	s, _ := openWithBatches(t)
	err := s.InTx(t.Context(), func(ctx context.Context, r domain.Repositories) error {
		return errors.Join(adding("rolled back")(ctx, r), s.InTx(ctx, adding("nested")))
	})
	if !errors.Is(err, repository.ErrNested) {
		t.Errorf("got %v, want %v", err, repository.ErrNested)
	}
	wantNames(t, s)
}

func TestFullQueueRejectsTransaction(t *testing.T) {
	t.Parallel()
	s, _ := openWithBatches(t)
	release := blockWriter(t, s)
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
		t.Errorf("one more transaction: got %v, want unavailable and %v", err, repository.ErrQueueFull)
	}
	release()
	wait.Wait()
	if ran.Load() != repository.QueueSize {
		t.Errorf("got %d runs, want %d", ran.Load(), repository.QueueSize)
	}
}

func TestCloseCommitsTheQueue(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "pets.db")
	s, err := repository.Open(t.Context(), sqlite.New(path), repository.Options{Migrate: true})
	if err != nil {
		t.Fatal(err)
	}
	release := blockWriter(t, s)
	queued := enqueue(t.Context(), s, adding("queued"))
	closed := make(chan error)
	go func() { closed <- s.Close() }()
	<-s.Closing()
	if err := s.InTx(t.Context(), adding("too late")); !errors.Is(err, domain.ErrUnavailable) {
		t.Errorf("InTx during Close: got %v, want unavailable", err)
	}
	release()
	if err := errors.Join(<-queued, <-closed); err != nil {
		t.Error(err)
	}
	again, err := repository.Open(t.Context(), sqlite.New(path), repository.Options{})
	if err != nil {
		t.Fatal(err)
	}
	wantNames(t, again, "queued")
	if err := again.Close(); err != nil {
		t.Error(err)
	}
}
