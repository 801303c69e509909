package usecase_test

import (
	"cmp"
	"errors"
	"fmt"
	"os"
	"testing"
	"time"

	"example.com/petstore/domain"
	"example.com/petstore/repository"
	"example.com/petstore/repository/enginetest"
)

var noon = time.Date(2026, time.November, 20, 12, 0, 0, 0, time.UTC)

func TestMain(m *testing.M) { os.Exit(enginetest.WithDatabases(m).Run()) }

// A clock returns a fixed time, which a test may change.
type clock struct{ time time.Time }

func (c *clock) now() time.Time { return c.time }

func open(t *testing.T) *repository.Store {
	t.Helper()
	return openDatabase(t, enginetest.New(t))
}

func openDatabase(t *testing.T, database enginetest.Database) *repository.Store {
	t.Helper()
	store := must[*repository.Store](t)(repository.Open(t.Context(), database.Engine(), repository.Options{Migrate: true}))
	t.Cleanup(func() {
		if err := store.Close(); err != nil {
			t.Error(err)
		}
	})
	return store
}

func allPets(t *testing.T, store *repository.Store) []domain.Pet {
	t.Helper()
	q := domain.PetQuery{PageRequest: domain.PageRequest{Limit: 10_000}}
	return must[domain.Page[domain.Pet]](t)(store.Pets().List(t.Context(), q)).Items
}

// wantNames expects the pets with these names.
func wantNames(t *testing.T, store *repository.Store, want ...any) {
	t.Helper()
	names := []any{}
	for _, pet := range allPets(t, store) {
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
		if err != nil {
			t.Fatal(err)
		}
		return value
	}
}
