package usecase_test

import (
	"context"
	"errors"
	"testing"

	"github.com/google/go-cmp/cmp"

	"example.com/petstore/domain"
	"example.com/petstore/internal/port"
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
	_, err := s.pets.List(t.Context(), domain.PetQuery{PageRequest: domain.PageRequest{Limit: 101}, Statuses: []domain.PetStatus{"lost"}})
	wantError(t, err, domain.ErrInvalid, domain.CodeInvalidParameter, "limit must be 1 to 100; status "+domain.PetStatusesRule)
	_, err = s.orders.List(t.Context(), domain.OrderQuery{PageRequest: domain.PageRequest{Limit: -1}, Statuses: []domain.OrderStatus{"sold"}})
	wantError(t, err, domain.ErrInvalid, domain.CodeInvalidParameter, "limit must be 1 to 100; status "+domain.OrderStatusesRule)
	_, err = s.changes.List(t.Context(), domain.PageRequest{Limit: 101})
	wantError(t, err, domain.ErrInvalid, domain.CodeInvalidParameter, "limit must be 1 to 100")
}

func TestCreateAllAddsAllOrNone(t *testing.T) {
	t.Parallel()
	s := newTestStore(t)
	tom := domain.NewPet{Name: "Tom"}
	_, _, err := s.pets.CreateAll(t.Context(), []domain.NewPet{rex, {Name: " "}}, keyOf("1", "k"))
	wantError(t, err, domain.ErrInvalid, domain.CodeValidationFailed, "[1].name "+domain.PetNameRule)
	want := []domain.Pet{rex.WithID(1), tom.WithID(2)}
	for i := range 2 {
		got, replayed, err := s.pets.CreateAll(t.Context(), []domain.NewPet{rex, tom}, keyOf("1", "k"))
		if diff := cmp.Diff(want, got); err != nil || diff != "" || replayed != (i == 1) {
			t.Errorf("call %d: got %v and replayed %t (-want +got)\n%s", i, err, replayed, diff)
		}
	}
	_, _, err = s.pets.CreateAll(t.Context(), []domain.NewPet{tom, rex}, keyOf("1", "k"))
	wantError(t, err, domain.ErrReused, domain.CodeIdempotencyKeyReused)
	_, _, err = s.pets.Create(t.Context(), rex, keyOf("1", "k"))
	wantError(t, err, domain.ErrReused, domain.CodeIdempotencyKeyReused)
	s.wantNames(t, "Rex", "Tom")
}

func matching(matches bool) func(domain.Pet) bool { return func(domain.Pet) bool { return matches } }

func TestUpdateCorrectsUnlessTheAnimalDoesNotMatch(t *testing.T) {
	t.Parallel()
	s := newTestStore(t)
	name, category, none, sold := "Tom", int64(-1), domain.PetStatus(""), domain.PetSold
	tom := domain.NewPet{Name: name, CategoryID: 7, Status: domain.PetAvailable}
	codes := map[domain.Kind]domain.Code{domain.ErrPrecondition: domain.CodePreconditionFailed, domain.ErrInvalid: domain.CodeValidationFailed}
	s.addPets(t, 1)
	for i, step := range []struct {
		patch   domain.PetPatch
		matches func(domain.Pet) bool
		want    domain.NewPet
		kind    domain.Kind
	}{
		{domain.PetPatch{}, matching(false), rex, ""},
		{domain.PetPatch{Name: &name}, matching(false), rex, domain.ErrPrecondition},
		{domain.PetPatch{Name: new("")}, nil, rex, domain.ErrInvalid},
		{domain.PetPatch{Name: &name}, func(p domain.Pet) bool { return p == rex.WithID(1) }, tom, ""},
		{domain.PetPatch{Name: &name}, matching(false), tom, ""},
		{domain.PetPatch{Status: &none}, nil, domain.NewPet{Name: name, CategoryID: 7}, ""},
		{domain.PetPatch{CategoryID: &category, Status: &sold}, matching(true), domain.NewPet{Name: name, CategoryID: -1, Status: sold}, ""},
	} {
		before := s.allPets(t)[0]
		got, changed, err := s.pets.Update(t.Context(), 1, step.patch, step.matches)
		if changed != (err == nil && got != before) {
			t.Errorf("step %d: got changed %t", i, changed)
		}
		if step.kind != "" {
			wantError(t, err, step.kind, codes[step.kind])
		} else if check(t, err); got != step.want.WithID(1) {
			t.Errorf("step %d: got %+v", i, got)
		}
		if diff := cmp.Diff([]domain.Pet{step.want.WithID(1)}, s.allPets(t)); diff != "" {
			t.Errorf("step %d: the animal (-want +got)\n%s", i, diff)
		}
	}
	_, _, err := s.pets.Update(t.Context(), 4711, domain.PetPatch{}, matching(false))
	wantError(t, err, domain.ErrNotFound, domain.CodePetNotFound)
}

func TestDeleteRemovesUnlessTheAnimalDoesNotMatch(t *testing.T) {
	t.Parallel()
	s := newTestStore(t)
	s.addPets(t, 2)
	wantError(t, s.pets.Delete(t.Context(), 1, matching(false)), domain.ErrPrecondition, domain.CodePreconditionFailed)
	check(t, s.pets.Delete(t.Context(), 1, func(p domain.Pet) bool { return p == rex.WithID(1) }))
	for _, id := range []int64{1, 3} {
		wantError(t, s.pets.Delete(t.Context(), id, matching(false)), domain.ErrNotFound, domain.CodePetNotFound)
	}
	check(t, s.pets.Delete(t.Context(), 2, nil))
	s.wantNames(t)
	if pet, _, err := s.pets.Create(t.Context(), rex, domain.IdempotencyKey{}); err != nil || pet.ID != 3 {
		t.Errorf("got %+v and %v, want an id that no animal had", pet, err)
	}
}

// If an animal has an order that is not cancelled, the order determines its status.
func TestOrderedAnimalKeepsItsStatusAndIsNotRemoved(t *testing.T) {
	t.Parallel()
	s := newTestStore(t)
	name, available := "Tom", domain.PetAvailable
	get := func(ctx context.Context, id int64) (domain.Order, bool, error) {
		order, err := s.orders.Get(ctx, id)
		return order, false, err
	}
	for _, end := range []func(context.Context, int64) (domain.Order, bool, error){get, s.orders.Deliver, s.orders.Cancel} {
		id := s.add(t, "")
		order := must[domain.Order](t)(s.place(t.Context(), id))
		order, _, err := end(t.Context(), order.ID)
		check(t, err)
		pet, _, err := s.pets.Update(t.Context(), id, domain.PetPatch{Name: &name}, nil)
		check(t, err)
		_, _, err = s.pets.Update(t.Context(), id, domain.PetPatch{Name: new("Rex"), Status: &available}, nil)
		if order.Status == domain.OrderCancelled {
			check(t, err)
			check(t, s.pets.Delete(t.Context(), id, nil))
			if orders := s.allOrders(t); orders[len(orders)-1] != order {
				t.Errorf("got the orders %+v, want the cancelled one last", orders)
			}
			continue
		}
		wantError(t, err, domain.ErrConflict, domain.CodePetOrdered)
		_, _, err = s.pets.Update(t.Context(), id, domain.PetPatch{Status: &available}, matching(false))
		wantError(t, err, domain.ErrPrecondition, domain.CodePreconditionFailed)
		wantError(t, s.pets.Delete(t.Context(), id, matching(false)), domain.ErrPrecondition, domain.CodePreconditionFailed)
		wantError(t, s.pets.Delete(t.Context(), id, nil), domain.ErrConflict, domain.CodePetOrdered)
		if got := must[domain.Pet](t)(s.pets.Get(t.Context(), id)); got != pet || got.Name != name {
			t.Errorf("got %+v, want the corrected name alone", got)
		}
	}
}

func TestDatabaseRejectsUnknownStatus(t *testing.T) {
	t.Parallel()
	s := newTestStore(t)
	err := s.InTx(t.Context(), func(ctx context.Context, r port.Repositories) error {
		_, err := r.Pets.Create(ctx, []domain.NewPet{{Name: "Rex", Status: "lost"}})
		return err
	})
	if err == nil || errors.As(err, new(*domain.Error)) {
		t.Errorf("got %v, want an error of the database", err)
	}
	s.wantNames(t)
}

func TestAllReturnsTheAnimalsOfAllPages(t *testing.T) {
	t.Parallel()
	s := newTestStore(t)
	s.addPets(t, 45)
	for newest, first := range map[bool]int64{false: 1, true: 45} {
		q := domain.PetQuery{PageRequest: domain.PageRequest{Newest: newest}}
		next, n := first, 0
		for pet, err := range s.pets.All(t.Context(), q) {
			if check(t, err); pet.ID != next {
				t.Fatalf("got the animal %d, want %d", pet.ID, next)
			}
			if n++; newest {
				next--
			} else {
				next++
			}
		}
		if n != 45 {
			t.Errorf("got %d animals, want 45", n)
		}
	}
	for _, err := range s.pets.All(t.Context(), domain.PetQuery{PageRequest: domain.PageRequest{Limit: 101}}) {
		wantError(t, err, domain.ErrInvalid, domain.CodeInvalidParameter)
	}
	for _, err := range s.pets.All(t.Context(), domain.PetQuery{}) {
		check(t, err)
		break // stops the iteration
	}
}
