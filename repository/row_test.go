package repository

import (
	"context"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// The same rows come from the driver and, within a transaction, from database/sql.
func TestRowsAreTheSameByBothWays(t *testing.T) {
	t.Parallel()
	store, _ := openObserved(t)
	type all struct {
		Int, Null *int64
		Text      string
		Bytes     []byte
	}
	of := func(r *row) all {
		return all{Int: r.intOrNull(0), Null: r.intOrNull(1), Text: r.text(2), Bytes: r.bytesOrNull(3)}
	}
	const query = "VALUES (?, NULL, 'Rex', x'00ff'), (7, NULL, '', NULL)"
	direct, err := read(t.Context(), store.readers, of, 2, query, int64(42))
	if err != nil {
		t.Fatal(err)
	}
	number, seven := int64(42), int64(7)
	want := []all{{Int: &number, Text: "Rex", Bytes: []byte{0, 255}}, {Int: &seven}}
	if diff := cmp.Diff(want, direct); diff != "" {
		t.Errorf("from the driver (-want +got)\n%s", diff)
	}
	pooled, err := read(t.Context(), session{db: store.writer.db}, of, 2, query, int64(42))
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(want, pooled); diff != "" {
		t.Errorf("from database/sql (-want +got)\n%s", diff)
	}
}

func TestRowThatDoesNotFitIsAnError(t *testing.T) {
	t.Parallel()
	store, _ := openObserved(t)
	for name, of := range map[string]func(*row) any{
		"text for a number":     func(r *row) any { return r.int(0) },
		"a number for text":     func(r *row) any { return r.text(1) },
		"NULL for a number":     func(r *row) any { return r.int(2) },
		"NULL for text":         func(r *row) any { return r.text(2) },
		"text for bytes":        func(r *row) any { return r.bytesOrNull(0) },
		"text for a number too": func(r *row) any { return r.intOrNull(0) },
		"a short digest":        func(r *row) any { return r.digest(3) },
	} {
		if got, err := read(context.Background(), store.readers, of, 1, "VALUES ('Rex', 7, NULL, x'00ff')"); err == nil {
			t.Errorf("%s: got %v", name, got)
		}
	}
}
