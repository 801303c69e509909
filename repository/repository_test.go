package repository_test

import (
	"context"
	"errors"
	"path/filepath"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"go.uber.org/goleak"

	"example.com/petstore/domain"
	"example.com/petstore/domain/port"
	"example.com/petstore/repository"
	"example.com/petstore/repository/engine"
	"example.com/petstore/repository/sqlite"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// maxOpenConns is the default of Options.MaxOpenConns.
const maxOpenConns = 4

func check(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// newStore opens a new store, which is closed when the test ends.
func newStore(t *testing.T) *repository.Store {
	t.Helper()
	return open(t, newEngine(t), repository.Options{})
}

// newEngine returns the engine of a new file.
func newEngine(t *testing.T) engine.Engine {
	t.Helper()
	return sqlite.New(filepath.Join(t.TempDir(), "pets.db"))
}

// open opens a store, which may be new. It is closed when the test ends.
func open(t *testing.T, e engine.Engine, o repository.Options) *repository.Store {
	t.Helper()
	o.Migrate = true
	store, err := repository.Open(t.Context(), e, o)
	check(t, err)
	t.Cleanup(func() {
		check(t, store.Close())
	})
	return store
}

// A wrapped engine changes the databases that it opens.
type wrapped struct {
	engine.Engine
	wrap func(engine.Database) engine.Database
}

func (w wrapped) Open(ctx context.Context, o engine.Options) (engine.Database, error) {
	database, err := w.Engine.Open(ctx, o)
	return w.wrap(database), err
}

// checking returns an engine whose databases check before a read.
func checking(e engine.Engine, poll func() (engine.Changes, error)) engine.Engine {
	return wrapped{e, func(d engine.Database) engine.Database { return polledDatabase{d, true, poll} }}
}

type polledDatabase struct {
	engine.Database
	checksBeforeRead bool
	poll             func() (engine.Changes, error)
}

func (d polledDatabase) ChecksBeforeRead() bool { return d.checksBeforeRead }

func (d polledDatabase) PollChanges(context.Context) (engine.Changes, error) { return d.poll() }

func unchanged() (engine.Changes, error) { return engine.Changes{}, nil }

var errFailure = errors.New("failure")

func failed() (engine.Changes, error) { return engine.Changes{}, errFailure }

// failureCounts count the failures of a store.
type failureCounts struct {
	mu    sync.Mutex
	count map[engine.Failure]int
}

func newFailureCounts() *failureCounts { return &failureCounts{count: map[engine.Failure]int{}} }

func (c *failureCounts) add(failure engine.Failure) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.count[failure]++
}

// want compares the failures since its last call with want.
func (c *failureCounts) want(t *testing.T, want map[engine.Failure]int) {
	t.Helper()
	c.mu.Lock()
	defer c.mu.Unlock()
	if diff := cmp.Diff(want, c.count); diff != "" {
		t.Errorf("the failures (-want +got)\n%s", diff)
	}
	clear(c.count)
}

// openCounting opens a store and returns it with the counts of its failures.
func openCounting(t *testing.T, e engine.Engine) (*repository.Store, *failureCounts) {
	t.Helper()
	failures := newFailureCounts()
	return open(t, e, repository.Options{ObserveFailure: failures.add}), failures
}

// A txFunc is the argument of InTx.
type txFunc = func(context.Context, port.Repositories) error

// adding returns a function that adds a pet.
func adding(name string) txFunc {
	return func(ctx context.Context, r port.Repositories) error {
		_, err := r.Pets.Create(ctx, domain.NewPet{Name: name})
		return err
	}
}

// executing returns a function that runs a statement.
func executing(statement string) txFunc {
	return func(ctx context.Context, r port.Repositories) error { return repository.ExecIn(ctx, r, statement) }
}

// inTx runs a transaction that must succeed.
func inTx(t *testing.T, s *repository.Store, fn txFunc) {
	t.Helper()
	check(t, s.InTx(t.Context(), fn))
}

// block keeps the store from running transactions until release is called.
func block(t *testing.T, s *repository.Store) (release func()) {
	t.Helper()
	began, end, result := make(chan struct{}), make(chan struct{}), make(chan error, 1)
	go func() {
		result <- s.InTx(context.WithoutCancel(t.Context()), func(context.Context, port.Repositories) error {
			close(began)
			<-end
			return nil
		})
	}()
	<-began
	return func() {
		t.Helper()
		close(end)
		check(t, <-result)
	}
}

// begin calls InTx in a goroutine, waits until it has begun, and returns the channel of its
// result.
func begin(ctx context.Context, s *repository.Store, fn txFunc) <-chan error {
	before := s.Waiting()
	result := make(chan error, 1)
	go func() { result <- s.InTx(ctx, fn) }()
	for s.Waiting() == before {
		time.Sleep(time.Millisecond)
	}
	return result
}

// wantNames compares the names of all pets with want.
func wantNames(t *testing.T, s *repository.Store, want ...string) {
	t.Helper()
	page, err := s.Pets().List(t.Context(), domain.PetQuery{PageRequest: domain.PageRequest{Limit: 100}})
	check(t, err)
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

// waitUntil waits until a condition holds, for 5 seconds at most.
func waitUntil(t *testing.T, name string, condition func() bool) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 5*time.Second)
	defer cancel()
	for !condition() {
		if ctx.Err() != nil {
			t.Fatalf("timed out waiting until %s", name)
		}
		time.Sleep(time.Millisecond)
	}
}
