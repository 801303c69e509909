package usecase_test

import (
	"testing"

	"example.com/petstore/domain"
	"example.com/petstore/domain/port"
	"example.com/petstore/usecase"
)

func TestImportContinuesAfterItsLastBatchAndStartsAgain(t *testing.T) {
	t.Parallel()
	s := newTestStore(t)
	start := func(again bool, want port.ImportState) *usecase.Importer {
		t.Helper()
		importer := usecase.NewImporter(s, port.FileDigest{1}, s.clock)
		if got := must[port.ImportState](t)(importer.Start(t.Context(), again)); got != want || importer.Added() != want.Added {
			t.Errorf("got %+v and Added %d, want %+v", got, importer.Added(), want)
		}
		return importer
	}
	add := func(importer *usecase.Importer, last bool, names ...string) (added []domain.Pet) {
		t.Helper()
		var pets []domain.NewPet
		for _, name := range names {
			pets = append(pets, domain.NewPet{Name: name})
		}
		return must[[]domain.Pet](t)(importer.Add(t.Context(), pets, last))
	}
	first := start(false, port.ImportState{})
	_, err := first.Add(t.Context(), []domain.NewPet{rex, {}}, true)
	wantError(t, err, domain.ErrInvalid, domain.CodeValidationFailed)
	if added := add(first, false, "1", "2"); len(added) != 2 || added[1].ID != 2 || first.Added() != 2 {
		t.Errorf("got %+v and Added %d, want two animals", added, first.Added())
	}
	second := start(true, port.ImportState{Added: 2}) // again has no effect on an import that is not complete
	add(second, false, "3")
	add(second, true)
	_, err = first.Add(t.Context(), []domain.NewPet{rex}, false)
	wantError(t, err, domain.ErrConflict, "")
	start(false, port.ImportState{Added: 3, Complete: true})
	add(start(true, port.ImportState{}), false, "1", "2")
	start(false, port.ImportState{Added: 2})
	s.wantNames(t, "1", "2", "3", "1", "2")
}
