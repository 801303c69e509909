package usecase_test

import (
	"context"
	"errors"
	"io"
	"slices"
	"strconv"
	"strings"
	"testing"

	"example.com/petstore/domain"
	"example.com/petstore/domain/port"
	"example.com/petstore/internal/test/testkit"
	"example.com/petstore/usecase"
)

// namesOf returns the next of Run for a file with these names.
func namesOf(names ...string) usecase.Source {
	return func(n int) (pets []domain.Pet, err error) {
		if n > len(names) {
			return nil, io.ErrUnexpectedEOF
		}
		for _, name := range names[:n] {
			pets = append(pets, domain.Pet{ID: 1, Name: name})
		}
		names = names[n:]
		return pets, nil
	}
}

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
	const total, size = 1501, 1000
	names := make([]string, total)
	for i := range names {
		names[i] = strconv.Itoa(i)
	}
	committed := 0
	run := func(importer *usecase.Importer, names []string) error {
		committed = 0
		return importer.Run(t.Context(), total, namesOf(names...), func(n int) { committed += n })
	}
	first, second := start(false, port.ImportState{}), start(false, port.ImportState{})
	if err := run(first, names[:size]); !errors.Is(err, io.ErrUnexpectedEOF) || first.Added() != size || committed != size {
		t.Errorf("the file changed: got %v, Added %d and %d committed", err, first.Added(), committed)
	}
	testkit.Equal(t, "OtherIDs", int64(size-1), first.OtherIDs())
	wantError(t, run(second, names), domain.ErrConflict, "")
	third := start(true, port.ImportState{Added: size}) // again has no effect on an import that is not complete
	if err := run(third, names); err != nil || third.Added() != total || committed != total-size {
		t.Errorf("the rest: got %v, Added %d and %d committed", err, third.Added(), committed)
	}
	s.wantNames(t, strings.Join(names, ""))
	start(false, port.ImportState{Added: total, Complete: true})
	check(t, run(start(true, port.ImportState{}), names))
	start(false, port.ImportState{Added: total, Complete: true})
	s.wantNames(t, strings.Repeat(strings.Join(names, ""), 2))
}

// sourceOf returns the Source of a file with these animals.
func sourceOf(pets ...domain.Pet) usecase.Source {
	return func(n int) ([]domain.Pet, error) {
		next := slices.Clone(pets[:n])
		pets = pets[n:]
		return next, nil
	}
}

func TestReplacerChecksAllAnimalsAndReplacesThoseThatDiffer(t *testing.T) {
	t.Parallel()
	s := newTestStore(t)
	check(t, s.InTx(t.Context(), func(ctx context.Context, r port.Repositories) error {
		_, err := r.Pets.Create(ctx, slices.Repeat([]domain.NewPet{rex}, 250))
		return err
	}))
	_, _, err := usecase.NewOrders(s, s.Orders(), s.clock).Place(t.Context(), 2, domain.IdempotencyKey{})
	check(t, err)
	before := s.allPets(t)
	newReplacer := func() *usecase.Replacer { return usecase.NewReplacer(s, s.Pets(), s.Orders()) }
	refusals := func(pets ...domain.Pet) (refused []string) {
		t.Helper()
		err := newReplacer().Check(t.Context(), int64(len(pets)), sourceOf(pets...), func(err error) { refused = append(refused, err.Error()) })
		check(t, err)
		return refused
	}
	run := func(pets []domain.Pet) (*usecase.Replacer, error) {
		replacer, committed := newReplacer(), 0
		err := replacer.Run(t.Context(), int64(len(pets)), sourceOf(pets...), func(n int) { committed += n })
		if err == nil && committed != len(pets) {
			t.Errorf("committed %d animals, want %d", committed, len(pets))
		}
		return replacer, err
	}

	corrected := slices.Clone(before)
	corrected[0] = testkit.Filled[domain.Pet](t, domain.PetSold)
	corrected[0].ID = 1
	corrected[1].Name = "ordered"
	corrected[249].Status = ""
	testkit.Equal(t, "refusals", []string(nil), refusals(corrected...))
	for _, want := range []int64{3, 0} {
		replacer, err := run(corrected)
		testkit.Equal(t, "Replaced", want, replacer.Replaced(), err)
		testkit.Equal(t, "the animals", corrected, s.allPets(t))
	}

	wrong := slices.Clone(corrected[:3])
	wrong[0].Name, wrong[1].Status, wrong[2].ID = "wrong", domain.PetAvailable, 251
	testkit.Equal(t, "refusals", []string{domain.PetOrdered(2).Error(), domain.PetNotFound(251).Error()}, refusals(wrong...))
	_, err = run(wrong)
	wantError(t, err, domain.ErrConflict, domain.CodePetOrdered)
	_, err = run(wrong[2:])
	wantError(t, err, domain.ErrNotFound, domain.CodePetNotFound)
	testkit.Equal(t, "the animals", corrected, s.allPets(t))
}
