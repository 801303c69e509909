package storetest

import (
	"context"
	"fmt"
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
		Equal(t, fmt.Sprintf("Advance from %+v to %+v", step.from, step.to), step.want, advance(t, s, file, step.from, step.to))
	}
	wantImportState(t, s, file, half)
	wantImportState(t, s, other, none)
	empty := port.ImportState{Complete: true}
	Equal(t, "Advance of a file without animals", true, advance(t, s, other, none, empty) && advance(t, s, other, empty, whole))
	wantImportState(t, s, other, whole)
}
