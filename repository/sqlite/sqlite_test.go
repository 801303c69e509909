package sqlite_test

import (
	"context"
	"os"
	"path/filepath"
	"testing"

	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	"go.uber.org/goleak"

	"example.com/petstore/domain"
	"example.com/petstore/repository"
	"example.com/petstore/repository/sqlite"
	"example.com/petstore/repository/storetest"
)

func TestMain(m *testing.M) {
	if path := os.Getenv(runAsReader); path != "" {
		if err := openStoreAndWait(path); err != nil {
			panic(err)
		}
		os.Exit(0)
	}
	goleak.VerifyTestMain(m)
}

func TestStoreContract(t *testing.T) {
	t.Parallel()
	for name, options := range map[string]repository.Options{
		"without traces": {Migrate: true},
		"with traces":    {Migrate: true, TracerProvider: sdktrace.NewTracerProvider()},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			storetest.Run(t, func(t *testing.T) storetest.Store { return open(t, t.TempDir(), options) })
		})
	}
}

func TestStoresOnOneFile(t *testing.T) {
	t.Parallel()
	storetest.RunShared(t, func(t *testing.T, n int) []storetest.Store {
		stores, folder := make([]storetest.Store, n), t.TempDir()
		for i := range stores {
			stores[i] = open(t, folder, repository.Options{Migrate: true})
		}
		return stores
	})
}

// open opens the store pets.db in a folder. The store is closed when the test ends.
func open(t *testing.T, folder string, o repository.Options) *repository.Store {
	t.Helper()
	store, err := repository.Open(t.Context(), sqlite.New(filepath.Join(folder, "pets.db")), o)
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

// adding returns a function that adds a pet.
func adding(name string) func(context.Context, domain.Repositories) error {
	return func(ctx context.Context, r domain.Repositories) error {
		_, err := r.Pets.Create(ctx, domain.NewPet{Name: name})
		return err
	}
}
