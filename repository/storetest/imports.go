package storetest

import (
	"context"
	"testing"

	"example.com/petstore/domain/port"
)

// advance changes the state of the file and reports whether it did.
func advance(t *testing.T, s Store, file port.FileDigest, from, to port.ImportState) bool {
	t.Helper()
	return tx(t, s, func(ctx context.Context, r port.Repositories) (bool, error) {
		return r.Imports.Advance(ctx, file, from, to, noon)
	})
}

func wantImportState(t *testing.T, s Store, file port.FileDigest, want port.ImportState) {
	t.Helper()
	got := tx(t, s, func(ctx context.Context, r port.Repositories) (port.ImportState, error) {
		return r.Imports.Find(ctx, file)
	})
	Equal(t, "Find", want, got)
}

func importAdvancesFromItsState(t *testing.T, s Store) {
	none, half, whole := port.ImportState{}, port.ImportState{Added: 2}, port.ImportState{Added: 4, Complete: true}
	file, other := port.FileDigest{1}, port.FileDigest{2}
	wantImportState(t, s, file, none)
	for _, step := range []struct {
		from, to port.ImportState
		want     bool
	}{
		{half, whole, false}, // an unknown file
		{none, half, true},
		{none, half, false},
		{port.ImportState{Added: 1}, whole, false},
		{port.ImportState{Added: 2, Complete: true}, whole, false},
		{half, whole, true},
		{half, whole, false},
		{port.ImportState{Added: 4}, half, false},
		{whole, half, true},
	} {
		if got := advance(t, s, file, step.from, step.to); got != step.want {
			t.Errorf("Advance from %+v to %+v: got %t, want %t", step.from, step.to, got, step.want)
		}
	}
	wantImportState(t, s, file, half)
	wantImportState(t, s, other, none)
	empty := port.ImportState{Complete: true}
	if !advance(t, s, other, none, empty) || !advance(t, s, other, empty, whole) {
		t.Error("Advance of a file without animals: got false, want true")
	}
	wantImportState(t, s, other, whole)
}
