package storetest

import (
	"fmt"
	"math"
	"sync"
	"testing"

	"example.com/petstore/domain"
)

// On an engine that reads records together, each caller gets its own.
func concurrentReadsGetTheirOwnRecords(t *testing.T, s Store) {
	pets := addPets(t, s, domain.NewPet{Name: "Rex"}, domain.NewPet{Name: "Tom", Status: domain.PetSold}, domain.NewPet{Name: "Ida", CategoryID: 7})
	var readers sync.WaitGroup
	for i := range 64 {
		readers.Go(func() {
			if i%4 == 3 {
				_, err := s.Pets().Get(t.Context(), 4711)
				wantCode(t, err, domain.ErrNotFound, "pet_not_found")
				return
			}
			wantPet(t, s, pets[i%4])
		})
	}
	readers.Wait()
}

// On an engine that reads pages together, each caller gets its own.
func concurrentPagesAreThoseOfTheirQueries(t *testing.T, s Store) {
	const n = 12
	petStatuses := []domain.PetStatus{"", domain.PetAvailable, domain.PetPending, domain.PetSold}
	orderStatuses := []domain.OrderStatus{"", domain.OrderPlaced, domain.OrderDelivered, domain.OrderCancelled}
	news, ids := make([]domain.NewPet, n), make([]int64, n)
	for i := range n {
		news[i], ids[i] = domain.NewPet{Name: fmt.Sprint("Rex ", i), Status: petStatuses[i%4]}, int64(i+1)
	}
	pets, orders := addPets(t, s, news...), placeOrders(t, s, ids...)
	for i := range orders {
		if to := orderStatuses[i%4]; i%4 > 1 && moveOrder(t, s, orders[i].ID, to, orders[i].UpdatedAt) {
			orders[i].Status = to
		}
	}
	twice, unknown := int64(4), int64(0) // the pet 4 has a cancelled order, too
	orders = append(orders, placeOrders(t, s, twice)...)
	var readers sync.WaitGroup
	for _, after := range []int64{math.MinInt64, 0, 1, 3, 4, 11, 12, 13, math.MaxInt64} {
		for _, limit := range []int{1, 3, 100} {
			request := domain.PageRequest{After: after, Limit: limit}
			for i := range 4 {
				readers.Go(func() {
					got, err := s.Pets().List(t.Context(), domain.PetQuery{PageRequest: request, Status: petStatuses[i]})
					wantPage(t, pets, request, got, err, func(p domain.Pet) bool { return p.ID > after && (i == 0 || p.Status == petStatuses[i]) })
				})
				for _, petID := range []*int64{nil, &twice, &unknown} {
					readers.Go(func() {
						got, err := s.Orders().List(t.Context(), domain.OrderQuery{PageRequest: request, Status: orderStatuses[i], PetID: petID})
						wantPage(t, orders, request, got, err, func(o domain.Order) bool {
							return o.ID > after && (i == 0 || o.Status == orderStatuses[i]) && (petID == nil || o.PetID == *petID)
						})
					})
				}
			}
		}
	}
	readers.Wait()
}

// wantPage expects the page of those of all records that match.
func wantPage[T any](t *testing.T, all []T, request domain.PageRequest, got domain.Page[T], err error, matches func(T) bool) {
	t.Helper()
	want := []T{}
	for _, record := range all {
		if matches(record) {
			want = append(want, record)
		}
	}
	page := domain.Page[T]{Items: want[:min(len(want), request.Limit)], More: len(want) > request.Limit}
	Equal(t, fmt.Sprint(request), page, got, err)
}
