package repository_test

import (
	"context"
	"errors"
	"testing"
	"time"

	"example.com/petstore/domain"
	"example.com/petstore/repository"
)

func TestReadWaitsForAConnectionUntilItsContextEnds(t *testing.T) {
	t.Parallel()
	store, _ := openWithBatches(t)
	const slots = 4 // the default of Options.MaxOpenConns
	if err := store.AcquireReadSlots(t.Context(), slots); err != nil {
		t.Fatal(err)
	}
	soon, cancel := context.WithTimeout(t.Context(), time.Millisecond)
	defer cancel()
	for name, read := range map[string]func(context.Context) error{
		"pets.Get":  func(ctx context.Context) error { _, err := store.Pets().Get(ctx, 1); return err },
		"pets.List": func(ctx context.Context) error { _, err := store.Pets().List(ctx, domain.PetQuery{}); return err },
		"keys.FindByHash": func(ctx context.Context) error {
			_, err := store.Keys().FindByHash(ctx, domain.KeyHash{})
			return err
		},
		"Ping": store.Ping,
	} {
		if err := read(soon); !errors.Is(err, domain.ErrUnavailable) {
			t.Errorf("%s: got %v, want unavailable", name, err)
		}
	}
	store.ReleaseReadSlots(slots)
	if err := store.Ping(t.Context()); err != nil {
		t.Errorf("with a free connection: got %v, want no error", err)
	}
}

func TestStartedReadIsNotInterrupted(t *testing.T) {
	t.Parallel()
	store, _ := openWithBatches(t)
	if err := store.InTx(t.Context(), adding("Rex")); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	ids, err := store.QueryIDs(ctx, cancel,
		"WITH RECURSIVE n (id) AS (VALUES (1) UNION ALL SELECT id + 1 FROM n WHERE id < 1000) SELECT id FROM n")
	if err != nil || len(ids) != 1000 {
		t.Errorf("got %d rows and %v, want 1000", len(ids), err)
	}
}

func TestScanRejectsColumnsOfOtherTypes(t *testing.T) {
	t.Parallel()
	var number int64
	var text string
	var pointer *int64
	var bytes []byte
	for name, test := range map[string]struct {
		value any
		dest  any
		valid bool
	}{
		"number":                             {int64(7), &number, true},
		"text":                               {"Rex", &text, true},
		"bytes":                              {[]byte{0}, &bytes, true},
		"number that may be NULL":            {int64(7), &pointer, true},
		"NULL number":                        {nil, &pointer, true},
		"NULL bytes":                         {nil, &bytes, true},
		"text for a number":                  {"Rex", &number, false},
		"number for text":                    {int64(7), &text, false},
		"NULL for a number":                  {nil, &number, false},
		"NULL for text":                      {nil, &text, false},
		"text for bytes":                     {"Rex", &bytes, false},
		"text for a number that may be NULL": {"Rex", &pointer, false},
	} {
		if err := repository.ScanRow([]any{test.value}, test.dest); (err == nil) != test.valid {
			t.Errorf("%s: got %v, want an error: %t", name, err, !test.valid)
		}
	}
}
