package storetest

import (
	"context"
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"
	"testing"

	"example.com/petstore/domain"
	"example.com/petstore/internal/port"
	"example.com/petstore/internal/test/testkit"
)

func petsAreReadAsCreated(t *testing.T, s Store) {
	var all []domain.Pet
	for _, pet := range []domain.NewPet{
		testkit.Filled[domain.NewPet](t, domain.PetAvailable),
		{Name: " Näme 🐶\u200d ", CategoryID: math.MaxInt64, Status: domain.PetSold},
		{Name: strings.Repeat("犬", 200), CategoryID: math.MinInt64},
		{Name: "'; DROP TABLE pets; --", CategoryID: 0, Status: domain.PetPending},
	} {
		added := addPets(t, s, pet)[0]
		want := pet.WithID(added.ID)
		wantPet(t, s, want)
		testkit.Equal(t, "Create", want, added)
		all = append(all, want)
	}
	list, err := s.Pets().List(t.Context(), pageQuery(0, 100))
	testkit.Equal(t, "List", all, list.Items, err)
	each, err := collect(t.Context(), "", s.Pets().Each)
	testkit.Equal(t, "Each", all, each, err)
	for _, id := range []int64{5, 0, -1, math.MaxInt64, math.MinInt64} {
		_, err := s.Pets().Get(t.Context(), id)
		wantCode(t, err, domain.ErrNotFound, "pet_not_found")
	}
}

// wantPet compares the pet with the id of want with want.
func wantPet(t *testing.T, s Store, want domain.Pet) {
	t.Helper()
	got, err := s.Pets().Get(t.Context(), want.ID)
	testkit.Equal(t, "Get", want, got, err)
}

// petsAreCreatedTogether adds more pets than one statement can insert. On SQLite, a statement has at most
// 32,766 variables.
func petsAreCreatedTogether(t *testing.T, s Store) {
	statuses := []domain.PetStatus{domain.PetAvailable, "", domain.PetSold, domain.PetPending}
	news := make([]domain.NewPet, 7003)
	want := make([]domain.Pet, len(news))
	for i := range news {
		news[i] = domain.NewPet{Name: fmt.Sprint("Rex ", i), CategoryID: int64(-i), Status: statuses[i%len(statuses)]}
		want[i] = domain.Pet{ID: int64(i + 1), Name: news[i].Name, CategoryID: news[i].CategoryID, Status: news[i].Status}
	}
	var none, added []domain.Pet
	inTx(t, s, func(ctx context.Context, r port.Repositories) (err error) {
		if none, err = r.Pets.Create(ctx, nil); err != nil {
			return err
		}
		added, err = r.Pets.Create(ctx, news)
		return err
	})
	testkit.Equal(t, "Create of none", 0, len(none))
	testkit.Equal(t, "Create", want, added)
	for _, after := range []int64{0, 200, 6903} {
		got, err := s.Pets().List(t.Context(), pageQuery(after, 100))
		testkit.Equal(t, fmt.Sprintf("List after %d", after), want[after:after+100], got.Items, err)
	}
}

// pageQuery returns the query of a page of all pets.
func pageQuery(after int64, limit int) domain.PetQuery {
	return domain.PetQuery{PageRequest: domain.PageRequest{After: after, Limit: limit}}
}

// wantEmptyLists expects a store without records.
func wantEmptyLists(t *testing.T, s Store) {
	pets, err := s.Pets().List(t.Context(), pageQuery(0, 1))
	testkit.Equal(t, "the pets", domain.Page[domain.Pet]{Items: []domain.Pet{}}, pets, err)
	orders, err := s.Orders().List(t.Context(), domain.OrderQuery{PageRequest: domain.PageRequest{Limit: 1}})
	testkit.Equal(t, "the orders", domain.Page[domain.Order]{Items: []domain.Order{}}, orders, err)
}

func failedTransactionIsRolledBack(t *testing.T, s Store) {
	failure, file := errors.New("failure"), port.FileDigest{1}
	add := func(ctx context.Context, r port.Repositories) error {
		return errors.Join(r.Imports.SetAdded(ctx, file, 1), Adding("Rex")(ctx, r))
	}
	err := s.InTx(t.Context(), func(ctx context.Context, r port.Repositories) error { return errors.Join(add(ctx, r), failure) })
	testkit.WantError(t, "InTx", err, failure)
	func() {
		defer func() {
			if panicked := fmt.Sprint(recover()); !strings.HasPrefix(panicked, "failure\n") { // the stack follows
				t.Errorf("got the panic %q, want failure", panicked)
			}
		}()
		err := s.InTx(t.Context(), func(ctx context.Context, r port.Repositories) error {
			_ = add(ctx, r)
			panic("failure")
		})
		t.Errorf("InTx returned %v, want a panic", err)
	}()
	wantEmptyLists(t, s)
	wantAdded(t, s, file, 0)
	addPets(t, s, domain.NewPet{Name: "Rex"})
}

func endedTransactionCannotBeUsed(t *testing.T, s Store) {
	var ended port.Repositories
	inTx(t, s, func(_ context.Context, r port.Repositories) error {
		ended = r
		return nil
	})
	_, read := ended.Pets.Get(t.Context(), 1)
	_, ordered := ended.Orders.Live(t.Context(), 1)
	_, claimed, claim := ended.Idempotency.Claim(t.Context(), firstClaim)
	completed := ended.Idempotency.Complete(t.Context(), firstClaim, nil)
	for i, err := range []error{Adding("Rex")(t.Context(), ended), orderFirstPet(t.Context(), ended), read, ordered, claim, completed} {
		if err == nil || errors.Is(err, domain.ErrNotFound) || errors.Is(err, domain.ErrConflict) {
			t.Errorf("statement %d: got %v, want that the transaction has ended", i, err)
		}
	}
	testkit.Equal(t, "whether a key was claimed", false, claimed)
	wantEmptyLists(t, s)
}

func transactionReadsItsWrites(t *testing.T, s Store) {
	key := newKey(t, 0)
	inTx(t, s, func(ctx context.Context, r port.Repositories) error {
		pets, petErr := r.Pets.Create(ctx, []domain.NewPet{{Name: "Rex", Status: domain.PetAvailable}})
		if petErr != nil {
			return petErr
		}
		pet := pets[0]
		order, orderErr := r.Orders.Create(ctx, pet.ID, noon)
		_, keyErr := r.Keys.Create(ctx, key)
		if err := errors.Join(orderErr, keyErr); err != nil {
			return err
		}
		for name, read := range map[string]struct {
			got  func() (any, error)
			want any
		}{
			"a pet":               {func() (any, error) { return r.Pets.Get(ctx, pet.ID) }, pet},
			"an order":            {func() (any, error) { return r.Orders.Get(ctx, order.ID) }, order},
			"a pet with an order": {func() (any, error) { return r.Orders.Live(ctx, pet.ID) }, true},
			"any key":             {func() (any, error) { return r.Keys.Any(ctx) }, true},
		} {
			got, err := read.got()
			testkit.Equal(t, name, read.want, got, err)
		}
		found, err := r.Keys.Get(ctx, 1)
		testkit.Equal(t, "the hash of the new key", key.Hash, found.Hash)
		return err
	})
}

func addedPetIsUpdatedAndRemovedInItsTransaction(t *testing.T, s Store) {
	inTx(t, s, func(ctx context.Context, r port.Repositories) error {
		pets, err := r.Pets.Create(ctx, []domain.NewPet{{Name: "Rex"}, {Name: "removed"}})
		if err != nil {
			return err
		}
		after := pets[0]
		after.Status = domain.PetSold
		err = errors.Join(r.Pets.Update(ctx, pets[0], after), r.Pets.Remove(ctx, pets[1]))
		got, getErr := r.Pets.Get(ctx, after.ID)
		testkit.Equal(t, "the updated pet", after, got, getErr)
		_, getErr = r.Pets.Get(ctx, pets[1].ID)
		wantCode(t, getErr, domain.ErrNotFound, "pet_not_found")
		_, createErr := r.Pets.Create(ctx, []domain.NewPet{{Name: "Tom"}})
		return errors.Join(err, createErr)
	})
	WantNames(t, s, "Rex", "Tom")
}

// collect returns the records of Each.
func collect[T any, S ~string](ctx context.Context, status S, each func(context.Context, S, func(T) error) error) (all []T, err error) {
	err = each(ctx, status, func(record T) error {
		all = append(all, record)
		return nil
	})
	return all, err
}

func canceledContextIsUnavailable(t *testing.T, s Store) {
	canceled, cancel := context.WithCancel(t.Context())
	cancel()
	_, err := s.Pets().Get(canceled, 1)
	wantCode(t, err, domain.ErrUnavailable, domain.CodeUnavailable)
	wantCode(t, s.InTx(canceled, Adding("Rex")), domain.ErrUnavailable, domain.CodeUnavailable)
	wantEmptyLists(t, s)
}

// updatePet updates a pet.
func updatePet(t *testing.T, s Store, before, after domain.Pet) {
	t.Helper()
	inTx(t, s, func(ctx context.Context, r port.Repositories) error { return r.Pets.Update(ctx, before, after) })
}

// removePet removes a pet.
func removePet(t *testing.T, s Store, pet domain.Pet) {
	t.Helper()
	inTx(t, s, func(ctx context.Context, r port.Repositories) error { return r.Pets.Remove(ctx, pet) })
}

func petIsUpdatedAndRemoved(t *testing.T, s Store) {
	pets := addPets(t, s, domain.NewPet{Name: "Rex 🐶", CategoryID: math.MinInt64, Status: domain.PetSold}, domain.NewPet{Name: "Tom"})
	for _, news := range []domain.NewPet{{Name: "' Näme ", CategoryID: math.MaxInt64}, {Name: "x", Status: domain.PetPending}, {Name: "x"}} {
		for i := range pets {
			after := news.WithID(pets[i].ID)
			updatePet(t, s, pets[i], after)
			pets[i] = after
		}
		for _, pet := range pets {
			wantPet(t, s, pet)
		}
	}
	removePet(t, s, pets[1])
	wantPet(t, s, pets[0])
	_, err := s.Pets().Get(t.Context(), pets[1].ID)
	wantCode(t, err, domain.ErrNotFound, "pet_not_found")
	testkit.Equal(t, "the id of the next animal", int64(3), addPets(t, s, domain.NewPet{Name: "next"})[0].ID)
}

// wantInventory expects the inventory of a category. If categoryID is nil, it is the inventory of all
// animals.
func wantInventory(t *testing.T, s Store, categoryID *int64, want domain.Inventory) {
	t.Helper()
	got, err := s.Pets().Inventory(t.Context(), categoryID)
	want.Position = latest(t, s)
	testkit.Equal(t, "Inventory", want, got, err)
}

func inventoryCountsWhatIsCommitted(t *testing.T, s Store) {
	one, other := int64(math.MinInt64), int64(0)
	rex := domain.NewPet{Name: "Rex", CategoryID: one, Status: domain.PetAvailable}
	wantInventory(t, s, nil, domain.Inventory{})
	pets := addTogether(t, s, slices.Concat(slices.Repeat([]domain.NewPet{rex}, 3), slices.Repeat([]domain.NewPet{{Name: "Tom"}}, 2)))
	failure := errors.New("failure")
	testkit.WantError(t, "InTx", s.InTx(t.Context(), func(ctx context.Context, r port.Repositories) error {
		_, err := r.Pets.Create(ctx, []domain.NewPet{rex, rex})
		return errors.Join(err, r.Pets.Remove(ctx, pets[1]), failure)
	}), failure)
	wantInventory(t, s, &one, domain.Inventory{Available: 3})
	wantInventory(t, s, &other, domain.Inventory{None: 2})
	movePet(t, s, pets[0].ID, domain.PetPending)
	movePet(t, s, pets[4].ID, domain.PetSold)
	sold := pets[1]
	sold.CategoryID, sold.Status = other, domain.PetSold
	updatePet(t, s, pets[1], sold)
	wantInventory(t, s, &one, domain.Inventory{Available: 1, Pending: 1})
	wantInventory(t, s, &other, domain.Inventory{Sold: 2, None: 1})
	wantInventory(t, s, nil, domain.Inventory{Available: 1, Pending: 1, Sold: 2, None: 1})
	removePet(t, s, pets[2])
	removePet(t, s, sold)
	wantInventory(t, s, &one, domain.Inventory{Pending: 1})
	wantInventory(t, s, nil, domain.Inventory{Pending: 1, Sold: 1, None: 1})
	wantInventory(t, s, new(int64(4711)), domain.Inventory{})
}
