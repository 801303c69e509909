package postgres_test

import (
	"errors"
	"fmt"
	"io"
	"sync/atomic"
	"testing"
	"time"

	"example.com/petstore/domain"
	"example.com/petstore/internal/test/storetest"
	"example.com/petstore/internal/test/testkit"
	"example.com/petstore/repository"
)

func TestOperationsTakeTwoRoundTrips(t *testing.T) {
	t.Parallel()
	var trips atomic.Int32
	count := func(client io.Reader) io.Reader { return countSyncs{client, &trips} }
	s := storetest.NewShop(t, open(t, throughProxy(t, server.NewDatabase(t), count, unchanged), repository.Options{}))
	none := func(pet int64) int64 { return pet }
	for name, operation := range map[string]struct {
		prepare func(pet int64) (id int64)
		run     func(id int64) string
	}{
		"place":            {none, s.Place},
		"place with a key": {none, func(pet int64) string { return s.PlaceWithKey(pet, fmt.Sprint("key", pet)) }},
		"deliver":          {s.Ordered, s.Deliver},
		"cancel":           {s.Ordered, s.Cancel},
		"correct the name": {none, func(pet int64) string { return s.Rename(pet, "Tom") }},
		"correct the status": {none, func(pet int64) string {
			return s.SetStatus(pet, domain.PetPending)
		}},
		"remove": {none, func(pet int64) string { return s.Remove(pet, "Rex") }},
	} {
		for _, calls := range []int{1, 3, 70} {
			for round := range 2 { // the first one also prepares statements
				var together []func() string
				for range calls {
					id := operation.prepare(s.Add())
					together = append(together, func() string { return operation.run(id) })
				}
				before := trips.Load()
				testkit.Equal(t, name, make([]string, calls), s.Together(together...))
				const ofBlock = 2 // the BEGIN and the COMMIT of storetest.Block
				if got := trips.Load() - before - ofBlock; round == 1 && got != 2 {
					t.Errorf("%s: got %d round trips of %d calls, want 2", name, got, calls)
				}
			}
		}
	}
}

// While a transaction waits for the lock, another process changes what it reads, and further calls arrive.
func TestRecordsAreReadWhateverHappensWhileATransactionBegins(t *testing.T) {
	t.Parallel()
	dsn := server.NewDatabase(t)
	var batches []int // the number of calls of each commit
	observe := func(calls int, _ time.Duration) { batches = append(batches, calls) }
	s := storetest.NewShop(t, open(t, dsn, repository.Options{ObserveCommit: observe}))
	var pets, orders []int64
	for i := range 8 {
		if pets = append(pets, s.Add()); i >= 4 {
			orders = append(orders, s.Ordered(pets[i]))
		}
	}
	release := storetest.Block(t, s.Store)
	batches = nil
	var queued []<-chan string
	queue := func(call func() string) { queued = append(queued, storetest.Enqueue(t, s.Store, call)) }
	queue(func() string { return s.Place(pets[0]) })       // sold meanwhile
	queue(func() string { return s.Rename(pets[1], "A") }) // has another category meanwhile
	queue(func() string { return s.Remove(pets[2], "B") }) // has this name meanwhile
	queue(func() string { return s.Deliver(orders[0]) })   // cancelled meanwhile
	queue(func() string { return s.SetStatus(pets[5], domain.PetSold) })
	other := overtake(t, dsn, release)
	queue(func() string { return s.Place(pets[0]) })
	queue(func() string { return s.Place(pets[3]) })
	queue(func() string { return s.Deliver(orders[2]) })
	queue(func() string { return s.Cancel(orders[3]) })
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
	testkit.Equal(t, "the batches", []int{1, len(queued)}, batches)
	stored, err := s.Pets.Get(t.Context(), pets[1])
	testkit.Equal(t, "the corrected animal", domain.Pet{ID: pets[1], Name: "A", CategoryID: 7, Status: domain.PetAvailable}, stored, err)
}

// A row with a status that is never stored makes the query that reads it ahead fail.
func TestOperationOnADamagedRowFailsAlone(t *testing.T) {
	t.Parallel()
	dsn := server.NewDatabase(t)
	s := storetest.NewShop(t, open(t, dsn, repository.Options{}))
	good, bad := s.Add(), s.Add()
	execute(t, dsn, fmt.Sprintf("ALTER TABLE pets DROP CONSTRAINT pets_status_check; UPDATE pets SET status = '?' WHERE id = %d", bad))
	damaged := fmt.Sprintf("the row of pets with the id %d is damaged", bad)
	got := s.Together(func() string { return s.Place(good) }, func() string { return s.Place(bad) }, func() string { return s.Rename(good, "Tom") })
	testkit.Equal(t, "the results", []string{"", damaged, ""}, got)
}

// The connection is lost before the transaction has begun: it begins again on another one.
func TestRecordsAreReadOnANewConnection(t *testing.T) {
	t.Parallel()
	dsn := server.NewDatabase(t)
	s := storetest.NewShop(t, open(t, dsn, repository.Options{}))
	order := s.Ordered(s.Add())
	execute(t, dsn, terminate)
	testkit.Equal(t, "deliver", "", s.Deliver(order))
}
