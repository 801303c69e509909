package usecase_test

import (
	"context"
	"slices"
	"testing"

	"example.com/petstore/domain"
	"example.com/petstore/internal/port"
	"example.com/petstore/internal/test/testkit"
	"example.com/petstore/usecase"
)

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
	refusals := func(wantDiffering int64, pets ...domain.Pet) (refused []string) {
		t.Helper()
		refuse := func(err error) { refused = append(refused, err.Error()) }
		differing, err := newReplacer().Check(t.Context(), int64(len(pets)), sourceOf(pets...), refuse)
		testkit.Equal(t, "animals that differ", wantDiffering, differing, err)
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
	testkit.Equal(t, "refusals", []string(nil), refusals(3, corrected...))
	for _, want := range []int64{3, 0} {
		replacer, err := run(corrected)
		testkit.Equal(t, "Replaced", want, replacer.Replaced(), err)
		testkit.Equal(t, "the animals", corrected, s.allPets(t))
	}
	corrected[0].Name = "twice"
	replacer, err := run([]domain.Pet{corrected[0], corrected[0]})
	testkit.Equal(t, "Replaced by an animal that the file has twice", int64(1), replacer.Replaced(), err)

	wrong := slices.Clone(corrected[:3])
	wrong[0].Name, wrong[1].Status, wrong[2].ID = "wrong", domain.PetAvailable, 251
	testkit.Equal(t, "refusals", []string{
		domain.PetOrdered(2, domain.PetPending).Error(), domain.PetNotFound(251).Error(), "the file has the id 1 more than once",
	}, refusals(1, append(wrong, wrong[0])...))
	_, err = run(wrong)
	wantError(t, err, domain.ErrConflict, domain.CodePetOrdered)
	_, err = run(wrong[2:])
	wantError(t, err, domain.ErrNotFound, domain.CodePetNotFound)
	testkit.Equal(t, "the animals", corrected, s.allPets(t))
}
