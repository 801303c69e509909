package repository

import (
	"context"

	"example.com/petstore/domain"
	"example.com/petstore/internal/port"
	"example.com/petstore/internal/record"
)

// A creation is a call of CreatePets. The creations of a batch run together.
type creation struct {
	ctx   context.Context // with the caller
	pets  []domain.NewPet
	claim port.Claim // the zero Claim if the request has no key

	created []domain.Pet
	earlier *port.Outcome // of an earlier claim with the key; if not nil, nothing was created
}

// CreatePets implements port.Transactor.
func (s *Store) CreatePets(ctx context.Context, pets []domain.NewPet, claim port.Claim) ([]domain.Pet, *port.Outcome, error) {
	c := &creation{ctx: ctx, pets: pets, claim: claim}
	if err := s.errorOf(s.queue.Create(ctx, c)); err != nil {
		return nil, nil, err
	}
	return c.created, c.earlier, nil
}

// claimsOf returns the claims of those creations that have one.
func claimsOf(creations []*creation) (claims []port.Claim) {
	for _, c := range creations {
		if !c.claim.IsZero() {
			claims = append(claims, c.claim)
		}
	}
	return claims
}

// create runs creations together. It finds the earlier claims of their keys. For the creations without one, it inserts
// the animals, and then the claims with the results. If two creations have the same key, the first one is the earlier
// claim of the second one: both become durable together.
func (t *transaction) create(ctx context.Context, creations []*creation) error {
	earlier, err := t.findClaims(ctx, claimsOf(creations), t.found)
	if err != nil {
		return err
	}
	var added []domain.Pet
	var claims []port.Claim
	var results [][]byte
	for _, c := range creations {
		c.created, c.earlier = nil, nil
		if outcome, ok := earlier[c.claim.IdempotencyKey]; ok {
			c.earlier = &outcome
			continue
		}
		if c.created, err = t.giveIDs(c.pets); err != nil {
			return err
		}
		added = append(added, c.created...)
		if c.claim.IsZero() {
			continue
		}
		result, err := record.EncodeAll(c.created, record.PetOf)
		if err != nil {
			return err
		}
		claims, results = append(claims, c.claim), append(results, result)
		earlier[c.claim.IdempotencyKey] = port.Outcome{Fingerprint: c.claim.Fingerprint, Result: result}
	}
	if err := t.insertPets(added); err != nil {
		return err
	}
	for _, c := range creations {
		t.addedPets(c.ctx, c.created)
	}
	return t.insertClaims(claims, results)
}
