package serve

import (
	"context"
	"errors"
	"path/filepath"
	"testing"
	"time"

	"example.com/petstore/domain/apikey"
	"example.com/petstore/repository"
	"example.com/petstore/repository/sqlite"
	"example.com/petstore/usecase"
)

func TestInterruptedBootstrapKeySaysWhy(t *testing.T) {
	t.Parallel()
	store, err := repository.Open(t.Context(), sqlite.New(filepath.Join(t.TempDir(), "petstore.db")), repository.Options{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = store.Close() })
	failure := errors.New("accept tcp 127.0.0.1:8081: invalid argument")
	ctx, cancel := context.WithCancelCause(t.Context())
	cancel(failure)
	if err := importBootstrapKey(ctx, usecase.NewKeys(store, store.Keys(), time.Now), apikey.Generate()); !errors.Is(err, failure) {
		t.Errorf("got %v, want %v", err, failure)
	}
}
