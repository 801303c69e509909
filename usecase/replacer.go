package usecase

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"example.com/petstore/domain"
	"example.com/petstore/internal/port"
)

// replaceBatchSize is how many animals a Replacer reads at once, and the maximum number that one transaction replaces.
const replaceBatchSize = 100

// A Replacer replaces animals of a store by the animals of a file that have the same ids. It is not safe for concurrent
// use.
type Replacer struct {
	tx       port.Transactor
	pets     port.PetReader
	orders   port.OrderReader
	replaced int64
}

// NewReplacer returns a Replacer for a store.
func NewReplacer(tx port.Transactor, pets port.PetReader, orders port.OrderReader) *Replacer {
	return &Replacer{tx: tx, pets: pets, orders: orders}
}

// Check checks whether the animals of a file can replace the stored animals. total is the number of animals in the file.
// For each animal that cannot replace the stored one, Check calls refuse with the reason:
//
//   - an ErrNotFound (pet_not_found) if the store has no animal with the id,
//   - an ErrConflict (pet_ordered) if the status differs and the animal has an order, as in Pets.Update,
//   - an ErrConflict if an earlier animal of the file has the same id.
//
// Check returns how many of the other animals differ from the stored ones, and the error of the file or of the store.
func (r *Replacer) Check(ctx context.Context, total int64, file Source, refuse func(error)) (differing int64, err error) {
	known := idSet{}
	err = file.inBatches(total, replaceBatchSize, func(pets []domain.Pet) error {
		stored, err := r.stored(ctx, pets)
		if err != nil {
			return err
		}
		for _, pet := range pets {
			before, found := stored[pet.ID]
			var err error
			switch {
			case !known.add(pet.ID):
				err = &domain.Error{Kind: domain.ErrConflict, Message: fmt.Sprintf("the file has the id %d more than once", pet.ID)}
			case !found:
				err = domain.PetNotFound(pet.ID)
			case pet.Status != before.Status:
				err = checkNotOrdered(ctx, r.orders, before)
			}
			if errors.Is(err, domain.ErrUnavailable) {
				return err
			}
			if err != nil {
				refuse(err)
			} else if before != pet {
				differing++
			}
		}
		return nil
	})
	return differing, err
}

// stored returns the stored animals with the ids of pets, by id.
func (r *Replacer) stored(ctx context.Context, pets []domain.Pet) (map[int64]domain.Pet, error) {
	page, err := r.pets.List(ctx, domain.PetQuery{IDs: idsOf(pets)})
	stored := map[int64]domain.Pet{}
	for _, pet := range page.Items {
		stored[pet.ID] = pet
	}
	return stored, err
}

func idsOf(pets []domain.Pet) []int64 {
	ids := make([]int64, len(pets))
	for i, pet := range pets {
		ids[i] = pet.ID
	}
	return ids
}

// Run replaces the stored animals by the animals of a file. total is the number of animals in the file. Run does
// not write animals that are already equal. After each batch it calls committed with the number of animals in the
// batch. Run returns the error of the file or of the store. If an animal cannot replace the stored one, it returns an
// ErrNotFound or an ErrConflict (pet_ordered), as in Check. It does not check that the ids in the file are distinct.
func (r *Replacer) Run(ctx context.Context, total int64, file Source, committed func(n int)) error {
	return file.inBatches(total, replaceBatchSize, func(pets []domain.Pet) error {
		err := r.replace(ctx, pets)
		if err == nil {
			committed(len(pets))
		}
		return err
	})
}

// replace replaces the stored animals that differ from pets, in one transaction.
func (r *Replacer) replace(ctx context.Context, pets []domain.Pet) error {
	stored, err := r.stored(ctx, pets)
	differing := slices.DeleteFunc(slices.Clone(pets), func(pet domain.Pet) bool { return stored[pet.ID] == pet })
	if err != nil || len(differing) == 0 {
		return err
	}
	var replaced int64
	err = r.tx.InTx(ctx, func(ctx context.Context, repositories port.Repositories) error {
		replaced = 0
		for _, pet := range differing {
			before, err := repositories.Pets.Get(ctx, pet.ID)
			if err == nil && before != pet {
				replaced++
				err = replace(ctx, repositories, before, pet)
			}
			if err != nil {
				return err
			}
		}
		return nil
	}, port.Reads{Pets: idsOf(differing)})
	if err == nil {
		r.replaced += replaced
	}
	return err
}

// Replaced returns the number of animals that Run has replaced.
func (r *Replacer) Replaced() int64 { return r.replaced }
