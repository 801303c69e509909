package repository

import (
	"context"
	"slices"

	"example.com/petstore/domain"
	"example.com/petstore/internal/engine"
	"example.com/petstore/internal/port"
)

// ahead is what Begin has read ahead for the queued calls, until the transaction changes it. What is missing may exist.
type ahead struct {
	claims  map[domain.IdempotencyKey]*claimModel // nil for a key without a claim
	pets    map[int64]domain.Pet
	ordered map[int64]bool // by the id of an animal: whether it has an order that is not cancelled
	orders  map[int64]domain.Order
}

func newAhead() ahead {
	return ahead{map[domain.IdempotencyKey]*claimModel{}, map[int64]domain.Pet{}, map[int64]bool{}, map[int64]domain.Order{}}
}

var (
	findClaims       = newLookup("SELECT caller, value, fingerprint, result, claimed_at FROM idempotency_keys WHERE caller = $%d AND value = $%d")
	findPets         = newPetLookup("$%d")
	findPetsOfOrders = newPetLookup("(SELECT pet_id FROM orders WHERE id = $%d)")
	findOrders       = newLookup("SELECT " + orderTable.columns + " FROM orders WHERE id = $%d")
)

// newPetLookup returns the lookup for animals, each with whether it has an order that is not cancelled. id is the SQL of the
// id of the animal.
func newPetLookup(id string) lookup {
	return newLookup("SELECT " + petTable.columns +
		", EXISTS (SELECT 1 FROM orders WHERE pet_id = pets.id AND " + isLive + ") FROM pets WHERE id = " + id)
}

// queries returns the queries that find what calls read. Once all are done, done sets a to what they have found.
func (a *ahead) queries(calls []port.Reads) (queries []engine.Query, done func()) {
	found := newAhead()
	var keys, pets, orders [][]any
	for _, c := range calls {
		if !c.Claim.IsZero() {
			found.claims[c.Claim.IdempotencyKey] = nil
			keys = append(keys, []any{c.Claim.Caller, c.Claim.Value})
		}
		for _, id := range c.Pets {
			pets = append(pets, []any{id})
		}
		for _, id := range c.Orders {
			orders = append(orders, []any{id})
		}
	}
	claim, pet, order, ordered := &claimModel{}, &petModel{}, &orderModel{}, false
	claimRow := func() error {
		row := *claim
		found.claims[domain.IdempotencyKey{Caller: row.Caller, Value: row.Value}] = &row
		return nil
	}
	petRow := func() (err error) {
		found.ordered[pet.ID] = ordered
		found.pets[pet.ID], err = pet.record()
		return err
	}
	orderRow := func() (err error) {
		found.orders[order.ID], err = order.record()
		return err
	}
	petFields := append(pet.fields(), &ordered)
	return slices.Concat(
		findClaims.queries(keys, claim.fields(), claimRow),
		findPets.queries(pets, petFields, petRow),
		findPetsOfOrders.queries(orders, petFields, petRow),
		findOrders.queries(orders, order.fields(), orderRow),
	), func() { *a = found }
}

// add adds a change. From then on, the transaction reads the changed records itself.
func (t *transaction) add(ctx context.Context, changeType domain.ChangeType, changed domain.ChangedRecords) {
	if changed.Pet != nil {
		delete(t.ahead.pets, changed.Pet.ID)
	}
	if changed.Order != nil {
		delete(t.ahead.orders, changed.Order.ID)
		delete(t.ahead.ordered, changed.Order.PetID)
	}
	t.collector.add(ctx, changeType, changed)
}
