package usecase_test

import (
	"testing"

	"example.com/petstore/domain"
)

func TestInvalidPetIsNotAdded(t *testing.T) {
	t.Parallel()
	s := newTestStore(t)
	_, _, err := s.pets.Create(t.Context(), domain.NewPet{Name: "Rex", Status: "Sold"}, keyOf("1", "k"))
	wantError(t, err, domain.ErrInvalid, domain.CodeValidationFailed, "status "+domain.PetStatusRule)
	_, _, err = s.pets.Create(t.Context(), rex, keyOf("1", "a b"))
	wantError(t, err, domain.ErrInvalid, domain.CodeInvalidIdempotencyKey, "Idempotency-Key must be 1 to 255 visible ASCII characters")
	s.wantNames(t)

	// A rejected request does not use its key.
	if _, replayed, err := s.pets.Create(t.Context(), rex, keyOf("1", "k")); replayed || err != nil {
		t.Errorf("got replayed %t and %v, want a new pet", replayed, err)
	}
}

func TestListRejectsInvalidQuery(t *testing.T) {
	t.Parallel()
	s := newTestStore(t)
	_, err := s.pets.List(t.Context(), domain.PetQuery{Status: "lost"})
	wantError(t, err, domain.ErrInvalid, domain.CodeInvalidParameter, "limit must be 1 to 100; status "+domain.PetStatusRule)
	_, err = s.orders.List(t.Context(), domain.OrderQuery{Status: "sold"})
	wantError(t, err, domain.ErrInvalid, domain.CodeInvalidParameter, "limit must be 1 to 100; status "+domain.OrderStatusRule)
	_, err = s.changes.List(t.Context(), domain.PageRequest{Limit: 101})
	wantError(t, err, domain.ErrInvalid, domain.CodeInvalidParameter, "limit must be 1 to 100")
}
