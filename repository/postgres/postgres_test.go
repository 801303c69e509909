//go:build postgres

package postgres_test

import (
	"context"
	"testing"

	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	"go.uber.org/goleak"

	"example.com/petstore/domain"
	"example.com/petstore/repository"
	"example.com/petstore/repository/postgres"
	"example.com/petstore/repository/postgres/postgrestest"
	"example.com/petstore/repository/storetest"
)

// server is for the tests that do not stop it.
var server *postgrestest.Server

func TestMain(m *testing.M) { goleak.VerifyTestMain(postgrestest.WithServer(m, &server)) }

func TestStoreContract(t *testing.T) {
	t.Parallel()
	for name, options := range map[string]repository.Options{
		"without traces": {Migrate: true},
		"with traces":    {Migrate: true, TracerProvider: sdktrace.NewTracerProvider()},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			storetest.Run(t, func(t *testing.T) storetest.Store { return open(t, server.NewDatabase(t), options) })
		})
	}
}

func TestStoresOnOneDatabase(t *testing.T) {
	t.Parallel()
	storetest.RunShared(t, func(t *testing.T, n int) (stores []storetest.Store) {
		for _, store := range openProcesses(t, n) {
			stores = append(stores, store)
		}
		return stores
	})
}

// openProcesses opens n stores on a new database, as several processes have them.
func openProcesses(t *testing.T, n int) []*repository.Store {
	t.Helper()
	stores, dsn := make([]*repository.Store, n), server.NewDatabase(t)
	for i := range stores {
		stores[i] = open(t, dsn, repository.Options{Migrate: true})
	}
	return stores
}

// open opens a store. The store is closed when the test ends.
func open(t *testing.T, dsn string, o repository.Options) *repository.Store {
	t.Helper()
	store, err := repository.Open(t.Context(), postgres.New(dsn), o)
	check(t, err)
	t.Cleanup(func() { check(t, store.Close()) })
	return store
}

// adding returns a function that adds a pet.
func adding(name string) func(context.Context, domain.Repositories) error {
	return func(ctx context.Context, r domain.Repositories) error {
		_, err := r.Pets.Create(ctx, domain.NewPet{Name: name})
		return err
	}
}

func check(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}
