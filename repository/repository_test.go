package repository_test

import (
	"context"
	"path/filepath"
	"testing"
	"time"

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
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := store.Close(); err != nil {
			t.Error(err)
		}
	})
	return store
}

// A checking engine is one whose databases check before a read.
type checking struct {
	engine.Engine
	poll func() (engine.Changes, error)
}

func (c checking) Open(ctx context.Context, o engine.Options) (engine.Database, error) {
	database, err := c.Engine.Open(ctx, o)
	return checkingDatabase{database, c.poll}, err
}

type checkingDatabase struct {
	engine.Database
	poll func() (engine.Changes, error)
}

func (d checkingDatabase) ChecksBeforeRead() bool { return true }

func (d checkingDatabase) PollChanges(context.Context) (engine.Changes, error) { return d.poll() }

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
	if err := s.InTx(t.Context(), fn); err != nil {
		t.Fatal(err)
	}
}

// block keeps the store from running transactions until release is called.
func block(t *testing.T, s *repository.Store) (release func()) {
	t.Helper()
	began, end, ended := make(chan struct{}), make(chan struct{}), make(chan struct{})
	go func() {
		defer close(ended)
		err := s.InTx(context.WithoutCancel(t.Context()), func(context.Context, port.Repositories) error {
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
