package repository

import (
	"context"

	"example.com/petstore/domain"
	"example.com/petstore/internal/port"
	"example.com/petstore/internal/record"
)

// A call is a call of CreatePets, or what a call of InTx reads. The calls of CreatePets in a batch run together.
type call struct {
	port.Reads                 // the zero Claim if the request has no key
	ctx        context.Context // with the caller
	news       []domain.NewPet

	created []domain.Pet
	earlier *port.Outcome // of an earlier claim with the key; if not nil, nothing was created
}

// CreatePets implements port.Transactor.
func (s *Store) CreatePets(ctx context.Context, pets []domain.NewPet, claim port.Claim) ([]domain.Pet, *port.Outcome, error) {
	c := &call{Reads: port.Reads{Claim: claim}, ctx: ctx, news: pets}
	if err := s.errorOf(s.queue.Create(ctx, c)); err != nil {
		return nil, nil, err
	}
	return c.created, c.earlier, nil
}

// claimsOf returns the claims of those calls that have one.
func claimsOf(calls []*call) (claims []port.Claim) {
	for _, c := range calls {
		if !c.Claim.IsZero() {
			claims = append(claims, c.Claim)
		}
	}
	return claims
}

// create runs creations together. It finds the earlier claims of their keys. For the creations without one, it inserts
// the animals, and then the claims with the results. If two creations have the same key, the first one is the earlier
// claim of the second one: both become durable together.
func (t *transaction) create(ctx context.Context, creations []*call) error {
	earlier, err := t.findClaims(ctx, claimsOf(creations))
	if err != nil {
		return err
	}
	var added []domain.Pet
	var claims []port.Claim
	var results [][]byte
	for _, c := range creations {
		c.created, c.earlier = nil, nil
		if outcome, ok := earlier[c.Claim.IdempotencyKey]; ok {
			c.earlier = &outcome
			continue
		}
		if c.created, err = t.giveIDs(c.news); err != nil {
			return err
		}
		added = append(added, c.created...)
		if c.Claim.IsZero() {
			continue
		}
		result, err := record.EncodeAll(c.created, record.PetOf)
		if err != nil {
			return err
		}
		claims, results = append(claims, c.Claim), append(results, result)
		earlier[c.Claim.IdempotencyKey] = port.Outcome{Fingerprint: c.Claim.Fingerprint, Result: result}
	}
	if err := t.insertPets(added); err != nil {
		return err
	}
	for _, c := range creations {
		t.addedPets(c.ctx, c.created)
	}
	return t.insertClaims(claims, results)
}
