package repository

import (
	"context"
	"errors"
	"testing"
	"time"

	"example.com/petstore/domain"
)

func TestReadWaitsForItsTurnAsLongAsItsCallerDoes(t *testing.T) {
	t.Parallel()
	store, _ := openObserved(t)
	const all = 4 // of Options.MaxOpenConns when it is zero
	if err := store.readers.turns.Acquire(t.Context(), all); err != nil {
		t.Fatal(err)
	}
	soon, cancel := context.WithTimeout(t.Context(), time.Millisecond)
	defer cancel()
	for name, ask := range map[string]func(context.Context) error{
		"pets.Get":  func(ctx context.Context) error { _, err := store.Pets().Get(ctx, 1); return err },
		"pets.List": func(ctx context.Context) error { _, err := store.Pets().List(ctx, domain.PetQuery{}); return err },
		"keys.Find": func(ctx context.Context) error {
			_, err := store.Keys().Find(ctx, domain.GenerateKey())
			return err
		},
		"Ping": store.Ping,
	} {
		if err := ask(soon); !errors.Is(err, domain.ErrUnavailable) {
			t.Errorf("%s: got %v, want unavailable", name, err)
		}
	}
	store.readers.turns.Release(all)
	if err := store.Ping(t.Context()); err != nil {
		t.Errorf("when it was its turn: %v", err)
	}
}

func TestReadThatBeganIsNotInterrupted(t *testing.T) {
	t.Parallel()
	store, _ := openObserved(t)
	if err := store.InTx(t.Context(), adding("Rex")); err != nil {
		t.Fatal(err)
	}
	ctx, leave := context.WithCancel(t.Context())
	counted, err := read(ctx, store.readers, func(r *row) int64 {
		leave()
		return idOf(r)
	}, 0, "WITH RECURSIVE n (id) AS (VALUES (1) UNION ALL SELECT id + 1 FROM n WHERE id < 1000) SELECT id FROM n")
	if err != nil || len(counted) != 1000 {
		t.Errorf("got %d rows and %v, want 1000", len(counted), err)
	}
}
