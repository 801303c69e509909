package usecase

import (
	"context"

	"example.com/petstore/domain"
	"example.com/petstore/domain/port"
)

// Pets implements the operations on the catalogue.
type Pets struct {
	tx   port.Transactor
	pets port.PetReader
}

// NewPets returns Pets of a store.
func NewPets(tx port.Transactor, pets port.PetReader) *Pets {
	return &Pets{tx: tx, pets: pets}
}

// List returns a page of the catalogue, or an ErrInvalid (invalid_parameter).
func (p *Pets) List(ctx context.Context, q domain.PetQuery) (domain.Page[domain.Pet], error) {
	if err := q.Validate(); err != nil {
		return domain.Page[domain.Pet]{}, err
	}
	return p.pets.List(ctx, q)
}

// Get returns one animal, or an ErrNotFound (pet_not_found).
func (p *Pets) Get(ctx context.Context, id int64) (domain.Pet, error) {
	return p.pets.Get(ctx, id)
}

// Create adds an animal. When Create returns, the animal is durable. A retry with the same
// idempotency key returns the first result and true. Create returns an ErrInvalid
// (validation_failed, invalid_idempotency_key), an ErrReused or an ErrConflict
// (idempotency_in_progress).
func (p *Pets) Create(ctx context.Context, pet domain.NewPet, key domain.IdempotencyKey) (domain.Pet, bool, error) {
	if err := pet.Validate(); err != nil {
		return domain.Pet{}, false, err
	}
	claim, err := request{"createPet", pet, key}.claim()
	if err != nil {
		return domain.Pet{}, false, err
	}
	created, earlier, err := p.tx.CreatePets(ctx, []domain.NewPet{pet}, claim)
	if earlier != nil {
		err = replay(claim, *earlier, &created)
	}
	if err != nil {
		return domain.Pet{}, false, err
	}
	return created[0], earlier != nil, nil
}
