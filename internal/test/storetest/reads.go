package storetest

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"math"
	"slices"
	"sync"
	"syscall"
	"testing"
	"time"

	"example.com/petstore/domain"
	"example.com/petstore/internal/test/testkit"
)

// An engine may read records and pages for several callers together. Each caller must get its own.
func concurrentReadsGetTheirOwnRecords(t *testing.T, s Store) {
	const n = 24
	petStatuses := []domain.PetStatus{"", domain.PetAvailable, domain.PetPending, domain.PetSold}
	orderStatuses := []domain.OrderStatus{"", domain.OrderPlaced, domain.OrderDelivered, domain.OrderCancelled}
	categories := []int64{0, 1, math.MinInt64, 4711} // the last category has no pets
	news, ids := make([]domain.NewPet, n), make([]int64, n)
	for i := range n {
		news[i], ids[i] = domain.NewPet{Name: fmt.Sprint("Rex ", i), CategoryID: categories[i%3], Status: petStatuses[i%4]}, int64(i+1)
	}
	pets, orders := addPets(t, s, news...), placeOrders(t, s, ids...)
	for i := range orders {
		if i%4 > 1 {
			orders[i] = endOrder(t, s, orders[i], orderStatuses[i%4], orders[i].UpdatedAt)
		}
	}
	twice, unknown := int64(4), int64(0) // the pet 4 also has a cancelled order
	orders = append(orders, placeOrders(t, s, twice)...)
	var readers sync.WaitGroup
	for _, pet := range pets {
		readers.Go(func() {
			wantPet(t, s, pet)
			_, err := s.Pets().Get(t.Context(), 4711)
			wantCode(t, err, domain.ErrNotFound, "pet_not_found")
		})
	}
	for _, request := range pageRequests(n) {
		for _, category := range []*int64{nil, &categories[0], &categories[1], &categories[2], &categories[3]} {
			lists := [][]domain.PetStatus{nil, petStatuses[:1], petStatuses[1:2], petStatuses[:3], {domain.PetSold, domain.PetAvailable}, petStatuses}
			for _, statuses := range lists {
				query := domain.PetQuery{PageRequest: request, Statuses: statuses, CategoryID: category}
				readers.Go(func() {
					got, err := s.Pets().List(t.Context(), query)
					wantPage(t, pets, request, got, err, func(p domain.Pet) int64 { return p.ID }, query.Selects)
				})
				byID := query
				byID.IDs = []int64{4711, 13, 7, 2, 9, 1, 12, math.MaxInt64}
				readers.Go(func() {
					got, err := s.Pets().List(t.Context(), byID)
					wantPage(t, pets, domain.PageRequest{Limit: n, Newest: request.Newest}, got, err, func(p domain.Pet) int64 { return p.ID },
						func(p domain.Pet) bool { return slices.Contains(byID.IDs, p.ID) && query.Selects(p) })
				})
			}
		}
		for _, petID := range []*int64{nil, &twice, &unknown} {
			for _, statuses := range [][]domain.OrderStatus{nil, orderStatuses[1:2], {domain.OrderCancelled, domain.OrderPlaced}, orderStatuses[1:]} {
				readers.Go(func() {
					got, err := s.Orders().List(t.Context(), domain.OrderQuery{PageRequest: request, Statuses: statuses, PetID: petID})
					wantPage(t, orders, request, got, err, func(o domain.Order) int64 { return o.ID }, func(o domain.Order) bool {
						return (statuses == nil || slices.Contains(statuses, o.Status)) && (petID == nil || o.PetID == *petID)
					})
				})
			}
		}
	}
	readers.Wait()
}

// pageRequests returns requests for pages of a list of n records.
func pageRequests(n int64) (all []domain.PageRequest) {
	for _, after := range []int64{math.MinInt64, 0, 1, 3, n, n + 2, math.MaxInt64} {
		for _, limit := range []int{1, 3, 100} {
			all = append(all, domain.PageRequest{After: after, Limit: limit}, domain.PageRequest{After: after, Limit: limit, Newest: true})
		}
	}
	return all
}

// wantPage expects the page of a request. all has every record, ascending by id. The page has the records that follow
// request.After and match, up to its limit.
func wantPage[T any](t *testing.T, all []T, request domain.PageRequest, got domain.Page[T], err error, id func(T) int64, matches func(T) bool) {
	got.Position = 0 // only some engines and pages have one
	t.Helper()
	want := []T{}
	for _, record := range all {
		behind := id(record) > request.After
		if request.Newest {
			behind = request.After <= 0 || id(record) < request.After
		}
		if behind && matches(record) {
			want = append(want, record)
		}
	}
	if request.Newest {
		slices.Reverse(want)
	}
	page := domain.Page[T]{Items: want[:min(len(want), request.Limit)], More: len(want) > request.Limit}
	if page.More {
		page.Next = id(want[request.Limit-1])
	}
	testkit.Equal(t, fmt.Sprint(request), page, got, err)
}

// eachAndCount returns the records of Each, and checks that Count returns their number.
func eachAndCount[T any, S ~string](
	t *testing.T, status S, count func(context.Context, S) (int64, error), each func(context.Context, S, func(T) error) error,
) []T {
	t.Helper()
	records, err := collect(t.Context(), status, each)
	testkit.Check(t, err)
	n, err := count(t.Context(), status)
	testkit.Equal(t, fmt.Sprintf("Count of the status %q", status), int64(len(records)), n, err)
	return records
}

func eachRecordIsReadOnceInOrder(t *testing.T, s Store) {
	pets := addPets(t, s, domain.NewPet{Name: "1", Status: domain.PetAvailable}, domain.NewPet{Name: "2"},
		domain.NewPet{Name: "3", Status: domain.PetAvailable})
	orders := placeOrders(t, s, 1, 3, 2)
	orders[1] = endOrder(t, s, orders[1], domain.OrderDelivered, noon.Add(time.Second))
	for status, want := range map[domain.PetStatus][]domain.Pet{"": pets, domain.PetAvailable: {pets[0], pets[2]}, domain.PetSold: nil} {
		testkit.Equal(t, fmt.Sprintf("pets with the status %q", status), want, eachAndCount(t, status, s.Pets().Count, s.Pets().Each))
	}
	for status, want := range map[domain.OrderStatus][]domain.Order{
		"": orders, domain.OrderPlaced: {orders[0], orders[2]}, domain.OrderCancelled: nil,
	} {
		testkit.Equal(t, fmt.Sprintf("orders with the status %q", status), want, eachAndCount(t, status, s.Orders().Count, s.Orders().Each))
	}
}

// eachReadsOneSnapshot changes the store after Each has returned the first record.
func eachReadsOneSnapshot(t *testing.T, s Store) {
	pets := addTogether(t, s, slices.Repeat([]domain.NewPet{{Name: "Rex"}}, 1000)) // more rows than the database reads at once
	var got []domain.Pet
	err := s.Pets().Each(t.Context(), "", func(pet domain.Pet) error {
		if len(got) == 0 {
			addPets(t, s, domain.NewPet{Name: "later"})
			movePet(t, s, pets[len(pets)-1].ID, domain.PetSold)
		}
		got = append(got, pet)
		return nil
	})
	testkit.Equal(t, "Each", pets, got, err)
}

func eachStopsAtAnErrorAndAtTheEndOfItsContext(t *testing.T, s Store) {
	addPets(t, s, domain.NewPet{Name: "1"}, domain.NewPet{Name: "2"})
	// These errors do not come from the store, although its own errors may wrap the same errors.
	for _, failure := range []error{
		errors.New("failure"), &fs.PathError{Op: "write", Path: "pets.csv", Err: syscall.ENOSPC}, context.Canceled,
		context.DeadlineExceeded,
	} {
		calls := 0
		err := s.Pets().Each(t.Context(), "", func(domain.Pet) error {
			calls++
			return failure
		})
		if !errors.Is(err, failure) || errors.Is(err, domain.ErrUnavailable) || calls != 1 {
			t.Errorf("got %v after %d calls, want %v after 1", err, calls, failure)
		}
	}
	ctx, cancel := context.WithCancel(t.Context())
	calls := 0
	each := func() error { return s.Pets().Each(ctx, "", func(domain.Pet) error { calls++; cancel(); return nil }) }
	for range 2 { // the context ends during the call, and before it
		wantCode(t, each(), domain.ErrUnavailable, domain.CodeUnavailable)
	}
	testkit.Equal(t, "the calls before the context ended", 1, calls)
}
