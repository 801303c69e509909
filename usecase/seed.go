package usecase

import (
	"context"
	"math/rand/v2"
	"slices"
	"time"

	"example.com/petstore/domain"
	"example.com/petstore/domain/port"
)

// A Seeder adds generated animals and orders to a store, for demonstrations and
// measurements. It is not safe for concurrent use.
type Seeder struct {
	tx        port.Transactor
	random    *rand.Rand
	every     int
	orderable int // animals that could be ordered, so far
	now       func() time.Time
}

// NewSeeder returns a Seeder for a store. The same seed generates the same animals and
// orders, whatever the number of calls of Add. One of orderEvery animals that can be
// ordered is ordered; 0 orders none. now is the clock.
func NewSeeder(tx port.Transactor, seed uint64, orderEvery int, now func() time.Time) *Seeder {
	random := rand.New(rand.NewPCG(seed, 0)) //nolint:gosec // names of animals are no secret
	return &Seeder{tx: tx, random: random, every: orderEvery, now: now}
}

// Add adds n animals and their orders in one transaction and returns the number of
// orders; when it returns, they are durable. After an error nothing was added.
func (s *Seeder) Add(ctx context.Context, n int) (orders int, err error) {
	// Before the transaction, whose function may run more than once.
	pets, sales := s.draw(n)
	at := s.now()
	err = s.tx.InTx(ctx, func(ctx context.Context, r port.Repositories) error {
		added, err := r.Pets.CreateAll(ctx, pets)
		if err != nil {
			return err
		}
		for _, sale := range sales {
			if err := sell(ctx, r, added[sale.pet].ID, sale.end, at); err != nil {
				return err
			}
		}
		return nil
	})
	if err != nil {
		return 0, err
	}
	return len(sales), nil
}

// A sale is the order of an animal of a batch.
type sale struct {
	pet int                // index in the batch
	end *domain.Transition // nil for an order that stays placed
}

// draw generates n animals and their orders.
func (s *Seeder) draw(n int) ([]domain.NewPet, []sale) {
	pets := make([]domain.NewPet, n)
	var sales []sale
	for i := range pets {
		pets[i] = drawPet(s.random)
		if s.every == 0 || !slices.Contains(domain.Orderable(), pets[i].Status) {
			continue
		}
		if s.orderable++; s.orderable%s.every == 0 {
			sales = append(sales, sale{pet: i, end: drawEnd(s.random)})
		}
	}
	return pets, sales
}

// drawEnd generates the end of an order: of ten, five are delivered and two cancelled.
func drawEnd(random *rand.Rand) *domain.Transition {
	var end domain.Transition
	switch draw := random.IntN(10); {
	case draw < 5:
		end = domain.Delivery()
	case draw < 7:
		end = domain.Cancellation()
	default:
		return nil
	}
	return &end
}

// sell orders an animal and applies the transition, if any, to the order.
func sell(ctx context.Context, r port.Repositories, petID int64, by *domain.Transition, at time.Time) error {
	order, err := place(ctx, r, petID, at)
	if err != nil || by == nil {
		return err
	}
	_, err = end(ctx, r, order.ID, *by, at)
	return err
}
