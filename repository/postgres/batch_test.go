package postgres_test

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"example.com/petstore/domain"
	"example.com/petstore/domain/port"
	"example.com/petstore/repository"
	"example.com/petstore/repository/engine"
	"example.com/petstore/repository/postgres"
)

// Statements are coalesced in the first run only.
func TestFailureAfterAChangeRunsEachFunctionWithASavepoint(t *testing.T) {
	t.Parallel()
	store, recorder := openRecorded(t)
	const added, unchanged, all = 63, 8, 63 + 8 + 1
	calls := creating(t, store, added)
	calls = append(calls, failing(t, store, "failing"))
	for i := range unchanged { // these fail without a change
		key := fmt.Sprint("used", i)
		create := func(ctx context.Context, name string) error {
			_, _, err := newPets(store).Create(ctx, domain.NewPet{Name: name}, domain.IdempotencyKey{Caller: "1", Value: key})
			return err
		}
		check(t, create(t.Context(), "Tom"))
		calls = append(calls, func(ctx context.Context) {
			if err := create(ctx, "Kim"); !errors.Is(err, domain.ErrReused) {
				t.Errorf("a used key: got %v, want reused", err)
			}
		})
	}
	recorder.statements = nil
	inOneBatch(t, store, calls...)
	want := map[string]int{
		"SELECT n,": 1 + all, "WITH numbered": 1 + added, "DELETE FROM": 2, "INSERT INTO": 1 + added + 1,
		"SAVEPOINT tx_func": all, "ROLLBACK TO": unchanged + 1, "RELEASE tx_func": all,
	}
	if diff := cmp.Diff(want, recorder.count(2)); diff != "" {
		t.Errorf("the statements (-want +got)\n%s", diff)
	}
	wantPets(t, store, unchanged+added)
}

// Those that share a key claim it one after the other, but need no run for each.
func TestBatchRunsAgainOnceForAllFailures(t *testing.T) {
	t.Parallel()
	store := open(t, server.NewDatabase(t), repository.Options{Migrate: true})
	var runs atomic.Int32
	calls := creating(t, store, 20)
	calls = append(calls, func(ctx context.Context) {
		check(t, store.InTx(ctx, func(context.Context, port.Repositories) error { runs.Add(1); return nil }))
	})
	for i := range 5 {
		calls = append(calls, failing(t, store, fmt.Sprint("failing", i)), failing(t, store, "shared"))
	}
	inOneBatch(t, store, calls...)
	if runs.Load() != 2 {
		t.Errorf("another function of the batch ran %d times, want 2", runs.Load())
	}
	wantPets(t, store, 20)
}

// creating returns n calls that create a pet with a key.
func creating(t *testing.T, s *repository.Store, n int) (calls []func(context.Context)) {
	t.Helper()
	for i := range n {
		calls = append(calls, func(ctx context.Context) {
			key := domain.IdempotencyKey{Caller: "1", Value: fmt.Sprint("pet", i)}
			pet, replayed, err := newPets(s).Create(ctx, domain.NewPet{Name: fmt.Sprint("Rex ", i)}, key)
			if err != nil || replayed || pet.ID == 0 {
				t.Errorf("Create: got %v, %t, %v, want a new pet", pet, replayed, err)
			}
		})
	}
	return calls
}

// failing returns a call that claims a key, stores a result if it can, and fails.
func failing(t *testing.T, s *repository.Store, key string) func(context.Context) {
	t.Helper()
	failure := errors.New("failure of " + key)
	claim := port.Claim{IdempotencyKey: domain.IdempotencyKey{Caller: "1", Value: key}, At: time.UnixMilli(1)}
	return func(ctx context.Context) {
		err := s.InTx(ctx, func(ctx context.Context, r port.Repositories) error {
			_, claimed, err := r.Idempotency.Claim(ctx, claim)
			if claimed {
				err = r.Idempotency.Complete(ctx, claim, nil)
			}
			return errors.Join(err, failure)
		})
		if !errors.Is(err, failure) {
			t.Errorf("got %v, want %v", err, failure)
		}
	}
}

// openRecorded opens a new store whose statements in transactions are recorded.
func openRecorded(t *testing.T) (*repository.Store, *recorder) {
	t.Helper()
	r := &recorder{Engine: postgres.New(server.NewDatabase(t))}
	store, err := repository.Open(t.Context(), r, repository.Options{Migrate: true})
	check(t, err)
	t.Cleanup(func() { check(t, store.Close()) })
	return store, r
}

// A recorder is an engine that records the statements in transactions.
type recorder struct {
	engine.Engine
	statements []string
}

// count returns how many statements begin with the same words, of which it compares n.
func (r *recorder) count(n int) map[string]int {
	counts := map[string]int{}
	for _, statement := range r.statements {
		counts[strings.Join(strings.Fields(statement)[:n], " ")]++
	}
	return counts
}

func (r *recorder) Open(ctx context.Context, o engine.Options) (engine.Database, error) {
	d, err := r.Engine.Open(ctx, o)
	return recordedDatabase{d, r}, err
}

type recordedDatabase struct {
	engine.Database
	recorder *recorder
}

func (d recordedDatabase) Begin(ctx context.Context) (engine.Tx, error) {
	tx, err := d.Database.Begin(ctx)
	return recordedTx{tx, d.recorder}, err
}

type recordedTx struct {
	engine.Tx
	recorder *recorder
}

func (t recordedTx) ExecContext(ctx context.Context, statement string, args ...any) (sql.Result, error) {
	t.recorder.statements = append(t.recorder.statements, statement)
	return t.Tx.ExecContext(ctx, statement, args...)
}

func (t recordedTx) QueryContext(ctx context.Context, statement string, args ...any) (*sql.Rows, error) {
	t.recorder.statements = append(t.recorder.statements, statement)
	return t.Tx.QueryContext(ctx, statement, args...)
}

func wantPets(t *testing.T, s *repository.Store, want int64) {
	t.Helper()
	if got, err := s.Pets().Count(t.Context(), ""); err != nil || got != want {
		t.Errorf("got %d pets and %v, want %d", got, err, want)
	}
}
