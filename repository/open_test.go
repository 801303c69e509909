package repository_test

import (
	"context"
	"errors"
	"path/filepath"
	"sync"
	"testing"
	"time"

	"go.uber.org/goleak"

	"example.com/petstore/internal/engine"
	"example.com/petstore/internal/port"
	"example.com/petstore/internal/test/storetest"
	"example.com/petstore/internal/test/testkit"
	"example.com/petstore/repository"
	"example.com/petstore/repository/sqlite"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// maxOpenConns is the default of Options.MaxOpenConns.
const maxOpenConns = 4

var (
	check     = testkit.Check
	adding    = storetest.Adding
	wantNames = storetest.WantNames
)

// newEngine returns the engine of a new file.
func newEngine(t *testing.T) engine.Engine {
	t.Helper()
	return sqlite.New(filepath.Join(t.TempDir(), "pets.db"))
}

// open opens a store, which may be new. It is closed when the test ends.
func open(t *testing.T, e engine.Engine, o repository.Options) *repository.Store {
	t.Helper()
	store, err := repository.Open(t.Context(), e, o)
	check(t, err)
	t.Cleanup(func() { check(t, store.Close()) })
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

// checking returns an engine whose databases call poll before a read.
func checking(e engine.Engine, poll pollFunc) engine.Engine {
	return wrapped{e, func(d engine.Database) engine.Database { return polledDatabase{d, poll} }}
}

type polledDatabase struct {
	engine.Database
	poll pollFunc
}

func (polledDatabase) IsRemote() bool { return true }

func (d polledDatabase) Poll(context.Context) (engine.State, bool, error) { return d.poll() }

// A pollFunc is Poll of an engine.Database.
type pollFunc = func() (engine.State, bool, error)

var errFailure = errors.New("failure")

func failed() (engine.State, bool, error) { return engine.State{}, false, errFailure }

// openCounting opens a store. wantFailures expects the failures since its last call.
func openCounting(t *testing.T, e engine.Engine) (_ *repository.Store, wantFailures func(...engine.Failure)) {
	t.Helper()
	var mu sync.Mutex
	var failures []engine.Failure
	observe := func(failure engine.Failure) {
		mu.Lock()
		defer mu.Unlock()
		failures = append(failures, failure)
	}
	return open(t, e, repository.Options{ObserveFailure: observe}), func(want ...engine.Failure) {
		t.Helper()
		mu.Lock()
		defer mu.Unlock()
		testkit.Equal(t, "the failures", want, failures)
		failures = nil
	}
}

// A txFunc is the argument of InTx.
type txFunc = storetest.TxFunc

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
	return testkit.Block(t, func(wait func()) error {
		return s.InTx(context.WithoutCancel(t.Context()), func(context.Context, port.Repositories) error { wait(); return nil })
	})
}

// begin calls InTx in a goroutine and waits until Waiting counts the call. It returns the channel of the result.
func begin(ctx context.Context, s *repository.Store, fn txFunc) <-chan error {
	before := s.Waiting()
	result := make(chan error, 1)
	go func() { result <- s.InTx(ctx, fn) }()
	for s.Waiting() == before {
		time.Sleep(time.Millisecond)
	}
	return result
}

func TestOpenRejectsUnfinishedCopy(t *testing.T) {
	t.Parallel()
	e := newEngine(t)
	store := open(t, e, repository.Options{})
	inTx(t, store, executing("INSERT INTO unfinished_copy (source) VALUES ('other.db')"))
	_, err := repository.Open(t.Context(), e, repository.Options{})
	testkit.WantMessage(t, "Open", err, "open the store "+e.String()+": it is an unfinished copy of other.db: ")
}

func TestOpenRejectsNegativeTimeout(t *testing.T) {
	t.Parallel()
	_, err := repository.Open(t.Context(), newEngine(t), repository.Options{Timeout: -1})
	testkit.WantMessage(t, "Open", err, ": the option Timeout is -1ns: use more than 0s, or 0s for 10s")
}

func TestOpenReturnsTheEndOfItsContext(t *testing.T) {
	t.Parallel()
	ctx, cancel := context.WithCancel(t.Context())
	e := wrapped{newEngine(t), func(d engine.Database) engine.Database { cancel(); return d }}
	_, err := repository.Open(ctx, e, repository.Options{})
	testkit.WantError(t, "Open", err, context.Canceled)
}
