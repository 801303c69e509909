package usecase_test

import (
	"fmt"
	"testing"

	"example.com/petstore/domain"
	"example.com/petstore/domain/port"
	"example.com/petstore/repository"
	"example.com/petstore/usecase"
)

var importedFile = port.FileDigest{1}

// startImport returns an Importer of importedFile, and how far the file was imported.
func startImport(t *testing.T, store *repository.Store, again bool) (*usecase.Importer, port.ImportState) {
	t.Helper()
	importer := usecase.NewImporter(store, importedFile, (&clock{noon}).now)
	return importer, must[port.ImportState](t)(importer.Start(t.Context(), again))
}

// batch returns the animals from one number to another.
func batch(from, to int) (pets []domain.NewPet) {
	for i := from; i <= to; i++ {
		pets = append(pets, domain.NewPet{Name: fmt.Sprint(i), CategoryID: 1})
	}
	return pets
}

func TestImportContinuesAfterTheLastBatch(t *testing.T) {
	t.Parallel()
	store := open(t)
	first, state := startImport(t, store, false)
	if state != (port.ImportState{}) {
		t.Errorf("got %+v for a new file, want nothing", state)
	}
	added := must[[]domain.Pet](t)(first.Add(t.Context(), batch(1, 2), false))
	if len(added) != 2 || added[1].ID != 2 || first.Added() != 2 {
		t.Errorf("got %+v and Added %d, want two animals", added, first.Added())
	}
	second, state := startImport(t, store, true) // again has no effect on an import that is not complete
	if state != (port.ImportState{Added: 2}) {
		t.Errorf("got %+v, want 2 animals", state)
	}
	must[[]domain.Pet](t)(second.Add(t.Context(), batch(3, 3), false))
	must[[]domain.Pet](t)(second.Add(t.Context(), nil, true))
	if _, state := startImport(t, store, false); state != (port.ImportState{Added: 3, Complete: true}) {
		t.Errorf("got %+v, want a complete import of 3", state)
	}
	wantNames(t, store, "1", "2", "3")
}

func TestCompleteImportStartsAgain(t *testing.T) {
	t.Parallel()
	store := open(t)
	first, _ := startImport(t, store, false)
	must[[]domain.Pet](t)(first.Add(t.Context(), batch(1, 3), true))
	again, state := startImport(t, store, true)
	if state != (port.ImportState{}) {
		t.Errorf("got %+v, want nothing", state)
	}
	must[[]domain.Pet](t)(again.Add(t.Context(), batch(1, 2), false))
	if _, state := startImport(t, store, false); state != (port.ImportState{Added: 2}) {
		t.Errorf("got %+v, want 2 animals", state)
	}
	wantNames(t, store, "1", "2", "3", "1", "2")
}

func TestImportRejectsInvalidAnimal(t *testing.T) {
	t.Parallel()
	store := open(t)
	importer, _ := startImport(t, store, false)
	_, err := importer.Add(t.Context(), append(batch(1, 1), domain.NewPet{}), true)
	wantError(t, err, domain.ErrInvalid, domain.CodeValidationFailed)
	if _, state := startImport(t, store, false); state != (port.ImportState{}) || importer.Added() != 0 {
		t.Errorf("got %+v and Added %d, want nothing", state, importer.Added())
	}
	wantNames(t, store)
}
