package postgres_test

import (
	"errors"
	"fmt"
	"io"
	"sync/atomic"
	"testing"
	"time"

	"example.com/petstore/domain"
	"example.com/petstore/internal/test/testkit"
	"example.com/petstore/repository"
	"example.com/petstore/usecase"
)

// A shop has the operations that read a record before they change it. They return the code of their error, "" without one.
type shop struct {
	*testing.T
	store   *repository.Store
	pets    *usecase.Pets
	orders  *usecase.Orders
	batches []int // the number of calls of each commit
}

func openShop(t *testing.T, dsn string) *shop {
	t.Helper()
	s := &shop{T: t}
	s.store = open(t, dsn, repository.Options{ObserveCommit: func(calls int, _ time.Duration) { s.batches = append(s.batches, calls) }})
	s.pets, s.orders = usecase.NewPets(s.store, s.store.Pets()), usecase.NewOrders(s.store, s.store.Orders(), usecase.Now)
	return s
}

// add adds an available animal.
func (s *shop) add() int64 {
	s.Helper()
	pet, _, err := s.pets.Create(s.Context(), domain.NewPet{Name: "Rex", CategoryID: 1, Status: domain.PetAvailable}, domain.IdempotencyKey{})
	check(s, err)
	return pet.ID
}

// ordered orders an animal and returns the order.
func (s *shop) ordered(pet int64) int64 {
	s.Helper()
	order, _, err := s.orders.Place(s.Context(), pet, domain.IdempotencyKey{})
	check(s, err)
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

func (s *shop) place(pet int64) string { return s.placeWithKey(pet, "") }

func (s *shop) placeWithKey(pet int64, key string) string {
	k := domain.IdempotencyKey{}
	if key != "" {
		k = domain.IdempotencyKey{Caller: "1", Value: key}
	}
	_, replayed, err := s.orders.Place(s.Context(), pet, k)
	if replayed {
		return "replayed"
	}
	return codeOf(err)
}

func (s *shop) deliver(order int64) string {
	_, changed, err := s.orders.Deliver(s.Context(), order)
	return s.unchanged(changed, err)
}

func (s *shop) cancel(order int64) string {
	_, changed, err := s.orders.Cancel(s.Context(), order)
	return s.unchanged(changed, err)
}

func (s *shop) rename(pet int64, name string) string {
	_, changed, err := s.pets.Update(s.Context(), pet, domain.PetPatch{Name: &name}, nil)
	return s.unchanged(changed, err)
}

func (s *shop) setStatus(pet int64, status domain.PetStatus) string {
	_, changed, err := s.pets.Update(s.Context(), pet, domain.PetPatch{Status: &status}, nil)
	return s.unchanged(changed, err)
}

func (s *shop) unchanged(changed bool, err error) string {
	if err == nil && !changed {
		return "unchanged"
	}
	return codeOf(err)
}

// remove removes an animal if it has the name.
func (s *shop) remove(pet int64, name string) string {
	return codeOf(s.pets.Delete(s.Context(), pet, func(stored domain.Pet) bool { return stored.Name == name }))
}

// A step is an operation on an animal or its order.
type step func(pet, order int64) string

func (s *shop) placing(key string) step {
	return func(pet, _ int64) string { return s.placeWithKey(pet, key) }
}

func (s *shop) renaming(name string) step {
	return func(pet, _ int64) string { return s.rename(pet, name) }
}

func (s *shop) settingStatus(status domain.PetStatus) step {
	return func(pet, _ int64) string { return s.setStatus(pet, status) }
}

func (s *shop) removing(name string) step {
	return func(pet, _ int64) string { return s.remove(pet, name) }
}

func (s *shop) delivering(_, order int64) string { return s.deliver(order) }
func (s *shop) cancelling(_, order int64) string { return s.cancel(order) }

// together runs calls in one batch, and returns what they have returned.
func (s *shop) together(calls ...func() string) []string {
	s.Helper()
	release := blockStore(s.T, s.store)
	s.batches = nil
	queued := make([]<-chan string, len(calls))
	for i, call := range calls {
		queued[i] = enqueue(s.T, s.store, call)
	}
	release()
	returned := make([]string, len(calls))
	for i, done := range queued {
		returned[i] = <-done
	}
	testkit.Equal(s, "the batches", []int{1, len(calls)}, s.batches)
	return returned
}

func TestOperationsTakeTwoRoundTrips(t *testing.T) {
	t.Parallel()
	var trips atomic.Int32
	count := func(client io.Reader) io.Reader { return countSyncs{client, &trips} }
	s := openShop(t, throughProxy(t, server.NewDatabase(t), count, unchanged))
	none := func(pet int64) int64 { return pet }
	for name, operation := range map[string]struct {
		prepare func(pet int64) (id int64)
		run     func(id int64) string
	}{
		"place":            {none, s.place},
		"place with a key": {none, func(pet int64) string { return s.placeWithKey(pet, fmt.Sprint("key", pet)) }},
		"deliver":          {s.ordered, s.deliver},
		"cancel":           {s.ordered, s.cancel},
		"correct the name": {none, func(pet int64) string { return s.rename(pet, "Tom") }},
		"correct the status": {none, func(pet int64) string {
			return s.setStatus(pet, domain.PetPending)
		}},
		"remove": {none, func(pet int64) string { return s.remove(pet, "Rex") }},
	} {
		for _, calls := range []int{1, 3, 70} {
			for round := range 2 { // the first one also prepares statements
				var together []func() string
				for range calls {
					id := operation.prepare(s.add())
					together = append(together, func() string { return operation.run(id) })
				}
				before := trips.Load()
				testkit.Equal(t, name, make([]string, calls), s.together(together...))
				const ofBlock = 2 // the BEGIN and the COMMIT of blockStore
				if got := trips.Load() - before - ofBlock; round == 1 && got != 2 {
					t.Errorf("%s: got %d round trips of %d calls, want 2", name, got, calls)
				}
			}
		}
	}
}

// What Begin has read for a call is not what it is after an earlier call of the batch.
func TestOperationSeesThoseBeforeItInItsBatch(t *testing.T) {
	t.Parallel()
	s := openShop(t, server.NewDatabase(t))
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
		"place and correct the name":   {false, s.placing(""), s.renaming("Tom"), []string{"", ""}, pending},
		"correct the name and place":   {false, s.renaming("Tom"), s.placing(""), []string{"", ""}, pending},
		"correct the status and place": {false, s.settingStatus(sold), s.placing(""), []string{"", "pet_not_available"}, sold},
		"correct and remove":           {false, s.renaming("Tom"), s.removing("Tom"), []string{"", ""}, ""},
		"correct twice":                {false, s.renaming("Tom"), s.renaming("Tom"), []string{"", "unchanged"}, available},
		"remove and place":             {false, s.removing("Rex"), s.placing(""), []string{"", "pet_not_found"}, ""},
		"remove and correct":           {false, s.removing("Rex"), s.renaming("Tom"), []string{"", "pet_not_found"}, ""},
		"remove twice":                 {false, s.removing("Rex"), s.removing("Rex"), []string{"", "pet_not_found"}, ""},
		"deliver twice":                {true, s.delivering, s.delivering, []string{"", "unchanged"}, sold},
		"deliver and cancel":           {true, s.delivering, s.cancelling, []string{"", "order_state_conflict"}, sold},
		"deliver and remove":           {true, s.delivering, s.removing("Rex"), []string{"", "pet_ordered"}, sold},
		"cancel and deliver":           {true, s.cancelling, s.delivering, []string{"", "order_state_conflict"}, available},
		"cancel and place":             {true, s.cancelling, s.placing(""), []string{"", ""}, pending},
		"cancel and remove":            {true, s.cancelling, s.removing("Rex"), []string{"", ""}, ""},
		"cancel and set the status":    {true, s.cancelling, s.settingStatus(sold), []string{"", ""}, sold},
		"correct the name and deliver": {true, s.renaming("Tom"), s.delivering, []string{"", ""}, sold},
	} {
		pet, order := s.add(), int64(0)
		if test.ordered {
			order = s.ordered(pet)
		}
		first, second := func() string { return test.first(pet, order) }, func() string { return test.second(pet, order) }
		testkit.Equal(t, name, test.want, s.together(first, second))
		stored, err := s.pets.Get(t.Context(), pet)
		if test.status == "" {
			testkit.WantError(t, name+": the animal", err, domain.ErrNotFound)
			continue
		}
		testkit.Equal(t, name+": the status", test.status, stored.Status, err)
	}
	found, _, err := s.store.Check(t.Context())
	testkit.Equal(t, "the differences", 0, len(found), err)
}

// While a transaction waits for the lock, another process changes what it reads, and further calls arrive.
func TestRecordsAreReadWhateverHappensWhileATransactionBegins(t *testing.T) {
	t.Parallel()
	dsn := server.NewDatabase(t)
	s := openShop(t, dsn)
	var pets, orders []int64
	for i := range 8 {
		if pets = append(pets, s.add()); i >= 4 {
			orders = append(orders, s.ordered(pets[i]))
		}
	}
	release := blockStore(t, s.store)
	s.batches = nil
	var queued []<-chan string
	queue := func(call func() string) { queued = append(queued, enqueue(t, s.store, call)) }
	queue(func() string { return s.place(pets[0]) })       // sold meanwhile
	queue(func() string { return s.rename(pets[1], "A") }) // has another category meanwhile
	queue(func() string { return s.remove(pets[2], "B") }) // has this name meanwhile
	queue(func() string { return s.deliver(orders[0]) })   // cancelled meanwhile
	queue(func() string { return s.setStatus(pets[5], domain.PetSold) })
	other := overtake(t, dsn, release)
	queue(func() string { return s.place(pets[0]) })
	queue(func() string { return s.place(pets[3]) })
	queue(func() string { return s.deliver(orders[2]) })
	queue(func() string { return s.cancel(orders[3]) })
	_, err := other.ExecContext(t.Context(), fmt.Sprintf(`UPDATE pets SET status = 'sold' WHERE id = %d;
		UPDATE pets SET category_id = 7 WHERE id = %d; UPDATE pets SET name = 'B', name_key = 'b' WHERE id = %d;
		UPDATE orders SET status = 'cancelled' WHERE id IN (%d, %d); UPDATE pets SET status = 'available' WHERE id IN (%d, %d)`,
		pets[0], pets[1], pets[2], orders[0], orders[1], pets[4], pets[5]))
	check(t, errors.Join(err, other.Commit()))
	var returned []string
	for _, done := range queued {
		returned = append(returned, <-done)
	}
	want := []string{"pet_not_available", "", "", "order_state_conflict", "", "pet_not_available", "", "", ""}
	testkit.Equal(t, "the results", want, returned)
	testkit.Equal(t, "the batches", []int{1, len(queued)}, s.batches)
	stored, err := s.pets.Get(t.Context(), pets[1])
	testkit.Equal(t, "the corrected animal", domain.Pet{ID: pets[1], Name: "A", CategoryID: 7, Status: domain.PetAvailable}, stored, err)
}

// A row with a status that is never stored makes the query that reads it ahead fail.
func TestOperationOnADamagedRowFailsAlone(t *testing.T) {
	t.Parallel()
	dsn := server.NewDatabase(t)
	s := openShop(t, dsn)
	good, bad := s.add(), s.add()
	execute(t, dsn, fmt.Sprintf("ALTER TABLE pets DROP CONSTRAINT pets_status_check; UPDATE pets SET status = '?' WHERE id = %d", bad))
	damaged := fmt.Sprintf("the row of pets with the id %d is damaged", bad)
	got := s.together(func() string { return s.place(good) }, func() string { return s.place(bad) }, func() string { return s.rename(good, "Tom") })
	testkit.Equal(t, "the results", []string{"", damaged, ""}, got)
}

// The connection is lost before the transaction has begun: it begins again on another one.
func TestRecordsAreReadOnANewConnection(t *testing.T) {
	t.Parallel()
	dsn := server.NewDatabase(t)
	s := openShop(t, dsn)
	order := s.ordered(s.add())
	execute(t, dsn, terminate)
	testkit.Equal(t, "deliver", "", s.deliver(order))
}
