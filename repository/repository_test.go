package repository_test

import (
	"path/filepath"
	"testing"

	"go.uber.org/goleak"

	"example.com/petstore/repository"
	"example.com/petstore/repository/storetest"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func TestSQLiteKeepsTheContract(t *testing.T) {
	t.Parallel()
	storetest.Run(t, func(t *testing.T) storetest.Store { return open(t, t.TempDir()) })
}

// open opens the store pets.db in a folder for as long as the test runs.
func open(t *testing.T, folder string) *repository.Store {
	t.Helper()
	store, err := repository.Open(t.Context(), repository.Options{DSN: filepath.Join(folder, "pets.db"), Migrate: true})
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
