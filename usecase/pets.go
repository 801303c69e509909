package usecase

import (
	"cmp"
	"context"
	"iter"

	"example.com/petstore/domain"
	"example.com/petstore/internal/port"
)

// Pets implements the operations on the catalogue.
type Pets struct {
	tx    port.Transactor
	pets  port.PetReader
	rules []PetRule
}

// A PetRule checks a rule of a host, and returns the violations. It is called only for an animal that satisfies the rules
// of package domain. The context is that of the request: domain.CallerOf returns its caller.
type PetRule func(ctx context.Context, pet domain.NewPet) []domain.Violation

// NewPets returns the Pets of a store. An animal that Pets adds or changes must satisfy the rules.
func NewPets(tx port.Transactor, pets port.PetReader, rules ...PetRule) *Pets {
	return &Pets{tx, pets, rules}
}

// rulesOf returns the rules for the animals of a request.
func (p *Pets) rulesOf(ctx context.Context) (rules []domain.PetRule) {
	for _, rule := range p.rules {
		rules = append(rules, func(pet domain.NewPet) []domain.Violation { return rule(ctx, pet) })
	}
	return rules
}

// List returns a page of the catalogue, or an ErrInvalid (invalid_parameter). The limit is 20 when zero.
func (p *Pets) List(ctx context.Context, q domain.PetQuery) (domain.Page[domain.Pet], error) {
	q.Limit = cmp.Or(q.Limit, domain.DefaultLimit)
	if err := q.Validate(); err != nil {
		return domain.Page[domain.Pet]{}, err
	}
	return p.pets.List(ctx, q)
}

// All reads the pages of a query one after the other, and returns their animals. An animal that is added meanwhile may be
// missing. An error, as of List, ends the iteration.
func (p *Pets) All(ctx context.Context, q domain.PetQuery) iter.Seq2[domain.Pet, error] {
	return func(yield func(domain.Pet, error) bool) {
		for more := true; more; {
			page, err := p.List(ctx, q)
			if err != nil {
				yield(domain.Pet{}, err)
				return
			}
			for _, pet := range page.Items {
				if !yield(pet, nil) {
					return
				}
			}
			more, q.After = page.More, page.Next
		}
	}
}

// Get returns one animal, or an ErrNotFound (pet_not_found).
func (p *Pets) Get(ctx context.Context, id int64) (domain.Pet, error) {
	return p.pets.Get(ctx, id)
}

// Create adds an animal. When Create returns, the animal is durable. A retry with the same idempotency key returns the
// first result and true. Create returns an ErrInvalid (validation_failed, invalid_idempotency_key) or an ErrReused.
func (p *Pets) Create(ctx context.Context, pet domain.NewPet, key domain.IdempotencyKey) (domain.Pet, bool, error) {
	if err := pet.Validate(p.rulesOf(ctx)...); err != nil {
		return domain.Pet{}, false, err
	}
	created, replayed, err := p.create(ctx, []domain.NewPet{pet}, request{"createPet", pet, key})
	if err != nil {
		return domain.Pet{}, false, err
	}
	return created[0], replayed, nil
}

// CreateAll is Create for 1 to 100 animals. It adds all animals in one transaction, or none, and returns them in the same
// order. Its ErrInvalid lists the violations of all animals.
func (p *Pets) CreateAll(ctx context.Context, pets []domain.NewPet, key domain.IdempotencyKey) ([]domain.Pet, bool, error) {
	if err := domain.ValidateNewPets(pets, p.rulesOf(ctx)...); err != nil {
		return nil, false, err
	}
	return p.create(ctx, pets, request{"createPets", pets, key})
}

func (p *Pets) create(ctx context.Context, pets []domain.NewPet, req request) ([]domain.Pet, bool, error) {
	return once(ctx, p.tx, req, port.Reads{}, func(ctx context.Context, r port.Repositories) ([]domain.Pet, error) {
		return r.Pets.Create(ctx, pets)
	})
}

// Update corrects an animal. When Update returns, the correction is durable. If matches is not nil, Update calls it with
// the stored animal, perhaps more than once. If matches returns false, Update returns an ErrPrecondition
// (precondition_failed). If the correction changes nothing, Update succeeds without calling matches, so that a retry
// succeeds, and changed is false.
//
// Update returns an ErrNotFound (pet_not_found) or an ErrInvalid (validation_failed). If the correction changes the
// status, it returns an ErrConflict (pet_ordered) while the animal has an order that is not cancelled.
func (p *Pets) Update(
	ctx context.Context, id int64, patch domain.PetPatch, matches func(domain.Pet) bool,
) (after domain.Pet, changed bool, err error) {
	if err := patch.Validate(); err != nil {
		return domain.Pet{}, false, err
	}
	err = p.tx.InTx(ctx, func(ctx context.Context, r port.Repositories) error {
		before, err := r.Pets.Get(ctx, id)
		if err != nil {
			return err
		}
		after = patch.Apply(before)
		if changed = after != before; !changed {
			return nil
		}
		if err := checkMatches(before, matches); err != nil {
			return err
		}
		if err := after.New().Validate(p.rulesOf(ctx)...); err != nil {
			return err
		}
		return replace(ctx, r, before, after)
	}, port.Reads{Pets: []int64{id}})
	return after, changed && err == nil, err
}

// replace replaces the animal before by after. It returns an ErrConflict (pet_ordered) as Pets.Update does.
func replace(ctx context.Context, r port.Repositories, before, after domain.Pet) error {
	if after.Status != before.Status {
		if err := checkNotOrdered(ctx, r.Orders, before); err != nil {
			return err
		}
	}
	return r.Pets.Update(ctx, before, after)
}

// Delete removes an animal. When Delete returns, the removal is durable. The cancelled orders of the animal remain.
// If matches is not nil, Delete calls it with the stored animal, perhaps more than once. If matches returns false,
// Delete returns an ErrPrecondition (precondition_failed). Delete returns an ErrNotFound (pet_not_found), or an
// ErrConflict (pet_ordered) while the animal has an order that is not cancelled.
func (p *Pets) Delete(ctx context.Context, id int64, matches func(domain.Pet) bool) error {
	return p.tx.InTx(ctx, func(ctx context.Context, r port.Repositories) error {
		pet, err := r.Pets.Get(ctx, id)
		if err == nil {
			err = checkMatches(pet, matches)
		}
		if err == nil {
			err = checkNotOrdered(ctx, r.Orders, pet)
		}
		if err != nil {
			return err
		}
		return r.Pets.Remove(ctx, pet)
	}, port.Reads{Pets: []int64{id}})
}

// checkMatches returns an ErrPrecondition if matches returns false for the animal. If matches is nil, every animal
// matches.
func checkMatches(pet domain.Pet, matches func(domain.Pet) bool) error {
	if matches != nil && !matches(pet) {
		return domain.PetChanged(pet.ID)
	}
	return nil
}

// checkNotOrdered returns an ErrConflict (pet_ordered) if an animal has an order that is not cancelled.
func checkNotOrdered(ctx context.Context, orders port.OrderFinder, pet domain.Pet) error {
	ordered, err := orders.Live(ctx, pet.ID)
	if err == nil && ordered {
		err = domain.PetOrdered(pet.ID, pet.Status)
	}
	return err
}

// Inventory returns the numbers of animals in a category. If categoryID is nil, it counts all animals.
func (p *Pets) Inventory(ctx context.Context, categoryID *int64) (domain.Inventory, error) {
	return p.pets.Inventory(ctx, categoryID)
}
