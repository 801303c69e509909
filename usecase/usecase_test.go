package usecase_test

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"example.com/petstore/domain"
	"example.com/petstore/internal/port"
	"example.com/petstore/internal/test/enginetest"
	"example.com/petstore/internal/test/testkit"
	"example.com/petstore/repository"
	"example.com/petstore/usecase"
)

var noon = time.Date(2026, time.November, 20, 12, 0, 0, 0, time.UTC)

func noonPlus(d time.Duration) *time.Time {
	t := noon.Add(d)
	return &t
}

var rex = domain.NewPet{Name: "Rex", CategoryID: 7, Status: domain.PetAvailable}

func TestMain(m *testing.M) { os.Exit(enginetest.WithDatabases(m).Run()) }

// A testStore is a new store with its use cases.
type testStore struct {
	*repository.Store
	database enginetest.Database
	now      time.Time // the time of the clock, which a test may set
	pets     *usecase.Pets
	orders   *usecase.Orders
	keys     *usecase.Keys
	changes  *usecase.Changes
}

// newTestStore opens a new store, at noon.
func newTestStore(t *testing.T) *testStore {
	t.Helper()
	return newTestStoreOf(t, enginetest.New(t))
}

func newTestStoreOf(t *testing.T, database enginetest.Database) *testStore {
	t.Helper()
	s := &testStore{database: database, now: noon}
	store := must[*repository.Store](t)(repository.Open(t.Context(), database.Engine(), repository.Options{Now: s.clock}))
	t.Cleanup(func() { check(t, store.Close()) })
	s.Store = store
	s.pets = usecase.NewPets(store, store.Pets())
	s.orders = usecase.NewOrders(store, store.Orders(), s.clock)
	s.keys = usecase.NewKeys(store, store.Keys(), s.clock)
	s.changes = usecase.NewChanges(store, store.Changes(), s.clock)
	return s
}

// sqliteDatabase returns a new SQLite database, also while the tests run with PostgreSQL.
func sqliteDatabase(t *testing.T) enginetest.Database {
	return enginetest.Database{Driver: enginetest.SQLite, DSN: filepath.Join(t.TempDir(), "pets.db")}
}

func (s *testStore) clock() time.Time { return s.now }

// addPets adds n animals in one transaction.
func (s *testStore) addPets(t *testing.T, n int) {
	t.Helper()
	check(t, s.InTx(t.Context(), func(ctx context.Context, r port.Repositories) error {
		_, err := r.Pets.Create(ctx, slices.Repeat([]domain.NewPet{rex}, n))
		return err
	}))
}

func (s *testStore) allPets(t *testing.T) []domain.Pet {
	t.Helper()
	q := domain.PetQuery{PageRequest: domain.PageRequest{Limit: 10_000}}
	return must[domain.Page[domain.Pet]](t)(s.Pets().List(t.Context(), q)).Items
}

// wantNames expects the pets with these names.
func (s *testStore) wantNames(t *testing.T, want ...any) {
	t.Helper()
	names := []any{}
	for _, pet := range s.allPets(t) {
		names = append(names, pet.Name)
	}
	if got, want := fmt.Sprint(names...), fmt.Sprint(want...); got != want {
		t.Errorf("got the names %s, want %s", got, want)
	}
}

// wantError checks the kind and code of err, and its message if one is given.
func wantError(t *testing.T, err error, kind domain.Kind, code domain.Code, message ...string) {
	t.Helper()
	var known *domain.Error
	if !errors.Is(err, kind) || !errors.As(err, &known) || known.Code != code || cmp.Or(message...) != "" && known.Message != message[0] {
		t.Errorf("got the error %v, want %q (%s) %s", err, kind, code, message)
	}
}

// must returns the value of a call that must succeed.
func must[T any](t *testing.T) func(value T, err error) T {
	return func(value T, err error) T {
		t.Helper()
		check(t, err)
		return value
	}
}

var check = testkit.Check
