package repository

import (
	"context"
	"encoding/json"
	"slices"

	"example.com/petstore/domain"
	"example.com/petstore/domain/port"
	"example.com/petstore/repository/engine"
)

// A creation is a call of CreatePets. The creations of a batch run together. They do not use GORM's Create:
// it would take 19 µs more for a request of about 40 µs.
type creation struct {
	pets  []domain.NewPet
	claim port.Claim // the zero Claim if the request has no key

	row     engine.Claim // the row for claim, with its result once the pets are created
	created []domain.Pet
	earlier *engine.Claim // an earlier claim with the key; if not nil, nothing was created
}

// CreatePets implements port.Transactor.
func (s *Store) CreatePets(ctx context.Context, pets []domain.NewPet, claim port.Claim) ([]domain.Pet, *port.Outcome, error) {
	c := &creation{pets: pets, claim: claim, row: newClaimRow(claim)}
	if err := s.errorOf(s.queue.Create(ctx, c)); err != nil {
		return nil, nil, err
	}
	if c.earlier == nil {
		return c.created, nil, nil
	}
	outcome, err := (*claimModel)(c.earlier).outcome()
	return nil, &outcome, err
}

// create runs creations together. It finds the earlier claims of their keys. For the creations without one,
// it inserts the animals, and then the claims with the results.
func (t *transaction) create(ctx context.Context, creations []*creation) error {
	if err := t.findEarlier(ctx, creations); err != nil {
		return err
	}
	added := slices.DeleteFunc(slices.Clone(creations), func(c *creation) bool { return c.earlier != nil })
	var news []domain.NewPet
	for _, c := range added {
		news = append(news, c.pets...)
	}
	created, err := t.pets().Create(ctx, news)
	if err != nil {
		return err
	}
	var claims []engine.Claim
	for _, c := range added {
		c.created, created = created[:len(c.pets)], created[len(c.pets):]
		if c.claim.IsZero() {
			continue
		}
		if c.row.Result, err = json.Marshal(c.created); err != nil {
			return err
		}
		claims = append(claims, c.row)
	}
	return t.insertClaims(ctx, claims)
}

// findEarlier finds the earlier claims of the keys of creations. If two creations have the same key, the
// first one is the earlier claim of the second one: both become durable together.
func (t *transaction) findEarlier(ctx context.Context, creations []*creation) error {
	keyed := slices.DeleteFunc(slices.Clone(creations), func(c *creation) bool { return c.claim.IsZero() })
	claims := make([]port.Claim, len(keyed))
	for i, c := range keyed {
		claims[i] = c.claim
	}
	found, err := t.findClaims(ctx, claims...)
	if err != nil {
		return err
	}
	first := map[domain.IdempotencyKey]*creation{}
	for i, c := range keyed {
		c.earlier = found[i]
		if c.earlier != nil {
			continue
		}
		if other := first[c.claim.IdempotencyKey]; other != nil {
			c.earlier = &other.row
		} else {
			first[c.claim.IdempotencyKey] = c
		}
	}
	return nil
}
