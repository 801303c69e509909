package storetest

import (
	"context"
	"errors"
	"testing"

	"example.com/petstore/domain"
	"example.com/petstore/internal/port"
	"example.com/petstore/internal/test/testkit"
	"example.com/petstore/usecase"
)

// A Shop has the operations that read a record before they change it. They return the code of their error, "" without one.
type Shop struct {
	*testing.T
	Store  Store
	Pets   *usecase.Pets
	Orders *usecase.Orders
}

// NewShop returns the Shop of a store.
func NewShop(t *testing.T, s Store) *Shop {
	return &Shop{t, s, usecase.NewPets(s, s.Pets()), usecase.NewOrders(s, s.Orders(), usecase.Now)}
}

// Add adds an available animal.
func (s *Shop) Add() int64 {
	s.Helper()
	pet, _, err := s.Pets.Create(s.Context(), domain.NewPet{Name: "Rex", CategoryID: 1, Status: domain.PetAvailable}, domain.IdempotencyKey{})
	testkit.Check(s, err)
	return pet.ID
}

// Ordered orders an animal and returns the order.
func (s *Shop) Ordered(pet int64) int64 {
	s.Helper()
	order, _, err := s.Orders.Place(s.Context(), pet, domain.IdempotencyKey{})
	testkit.Check(s, err)
	return order.ID
}

func codeOf(err error) string {
	if known, ok := errors.AsType[*domain.Error](err); ok {
		return string(known.Code)
	}
	if err != nil {
		return err.Error()
	}
	return ""
}

func (s *Shop) Place(pet int64) string { return s.PlaceWithKey(pet, "") }

func (s *Shop) PlaceWithKey(pet int64, key string) string {
	k := domain.IdempotencyKey{}
	if key != "" {
		k = domain.IdempotencyKey{Caller: "1", Value: key}
	}
	_, replayed, err := s.Orders.Place(s.Context(), pet, k)
	if replayed {
		return "replayed"
	}
	return codeOf(err)
}

func (s *Shop) Deliver(order int64) string {
	_, changed, err := s.Orders.Deliver(s.Context(), order)
	return s.unchanged(changed, err)
}

func (s *Shop) Cancel(order int64) string {
	_, changed, err := s.Orders.Cancel(s.Context(), order)
	return s.unchanged(changed, err)
}

func (s *Shop) Rename(pet int64, name string) string {
	_, changed, err := s.Pets.Update(s.Context(), pet, domain.PetPatch{Name: &name}, nil)
	return s.unchanged(changed, err)
}

func (s *Shop) SetStatus(pet int64, status domain.PetStatus) string {
	_, changed, err := s.Pets.Update(s.Context(), pet, domain.PetPatch{Status: &status}, nil)
	return s.unchanged(changed, err)
}

func (s *Shop) unchanged(changed bool, err error) string {
	if err == nil && !changed {
		return "unchanged"
	}
	return codeOf(err)
}

// Remove removes an animal if it has the name.
func (s *Shop) Remove(pet int64, name string) string {
	return codeOf(s.Pets.Delete(s.Context(), pet, func(stored domain.Pet) bool { return stored.Name == name }))
}

// A step is an operation on an animal or its order.
type step func(pet, order int64) string

func (s *Shop) placing(key string) step {
	return func(pet, _ int64) string { return s.PlaceWithKey(pet, key) }
}

func (s *Shop) renaming(pet, _ int64) string { return s.Rename(pet, "Tom") }

func (s *Shop) settingStatus(status domain.PetStatus) step {
	return func(pet, _ int64) string { return s.SetStatus(pet, status) }
}

func (s *Shop) removing(name string) step {
	return func(pet, _ int64) string { return s.Remove(pet, name) }
}

func (s *Shop) delivering(_, order int64) string { return s.Deliver(order) }
func (s *Shop) cancelling(_, order int64) string { return s.Cancel(order) }

// Together runs calls in one batch, and returns what they have returned.
func (s *Shop) Together(calls ...func() string) []string {
	s.Helper()
	release := Block(s.T, s.Store)
	queued := make([]<-chan string, len(calls))
	for i, call := range calls {
		queued[i] = Enqueue(s.T, s.Store, call)
	}
	release()
	returned := make([]string, len(calls))
	for i, done := range queued {
		returned[i] = <-done
	}
	return returned
}

// Block keeps a store from running transactions until release is called. Calls that arrive meanwhile share the next one.
func Block(t *testing.T, s Store) (release func()) {
	t.Helper()
	return testkit.Block(t, func(wait func()) error {
		return s.InTx(context.WithoutCancel(t.Context()), func(context.Context, port.Repositories) error { wait(); return nil })
	})
}

// Enqueue starts a call of a blocked store, and waits until it is queued.
func Enqueue[T any](t *testing.T, s Store, call func() T) <-chan T {
	t.Helper()
	before, done := s.Waiting(), make(chan T, 1)
	go func() { done <- call() }()
	testkit.WaitUntil(t, "the call is queued", func() bool { return s.Waiting() > before })
	return done
}

// What Begin has read for a call is not what it is after an earlier call of the batch.
func operationSeesThoseBeforeItInItsBatch(t *testing.T, store Store) {
	s := NewShop(t, store)
	const pending, sold, available = domain.PetPending, domain.PetSold, domain.PetAvailable
	for name, test := range map[string]struct {
		ordered       bool // the animal has an order
		first, second step
		want          []string
		status        domain.PetStatus // of the animal afterwards, "" if it is removed
	}{
		"place twice":                  {false, s.placing(""), s.placing(""), []string{"", "pet_not_available"}, pending},
		"place twice with one key":     {false, s.placing("a"), s.placing("a"), []string{"", "replayed"}, pending},
		"place and remove":             {false, s.placing(""), s.removing("Rex"), []string{"", "pet_ordered"}, pending},
		"place and correct the status": {false, s.placing(""), s.settingStatus(sold), []string{"", "pet_ordered"}, pending},
		"place and correct the name":   {false, s.placing(""), s.renaming, []string{"", ""}, pending},
		"correct the name and place":   {false, s.renaming, s.placing(""), []string{"", ""}, pending},
		"correct the status and place": {false, s.settingStatus(sold), s.placing(""), []string{"", "pet_not_available"}, sold},
		"correct and remove":           {false, s.renaming, s.removing("Tom"), []string{"", ""}, ""},
		"correct twice":                {false, s.renaming, s.renaming, []string{"", "unchanged"}, available},
		"remove and place":             {false, s.removing("Rex"), s.placing(""), []string{"", "pet_not_found"}, ""},
		"remove and correct":           {false, s.removing("Rex"), s.renaming, []string{"", "pet_not_found"}, ""},
		"remove twice":                 {false, s.removing("Rex"), s.removing("Rex"), []string{"", "pet_not_found"}, ""},
		"deliver twice":                {true, s.delivering, s.delivering, []string{"", "unchanged"}, sold},
		"deliver and cancel":           {true, s.delivering, s.cancelling, []string{"", "order_state_conflict"}, sold},
		"deliver and remove":           {true, s.delivering, s.removing("Rex"), []string{"", "pet_ordered"}, sold},
		"cancel and deliver":           {true, s.cancelling, s.delivering, []string{"", "order_state_conflict"}, available},
		"cancel and place":             {true, s.cancelling, s.placing(""), []string{"", ""}, pending},
		"cancel and remove":            {true, s.cancelling, s.removing("Rex"), []string{"", ""}, ""},
		"cancel and set the status":    {true, s.cancelling, s.settingStatus(sold), []string{"", ""}, sold},
		"correct the name and deliver": {true, s.renaming, s.delivering, []string{"", ""}, sold},
	} {
		pet, order := s.Add(), int64(0)
		if test.ordered {
			order = s.Ordered(pet)
		}
		first, second := func() string { return test.first(pet, order) }, func() string { return test.second(pet, order) }
		testkit.Equal(t, name, test.want, s.Together(first, second))
		stored, err := s.Pets.Get(t.Context(), pet)
		if test.status == "" {
			testkit.WantError(t, name+": the animal", err, domain.ErrNotFound)
			continue
		}
		testkit.Equal(t, name+": the status", test.status, stored.Status, err)
	}
}
