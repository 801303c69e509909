package usecase

import (
	"context"
	"math/rand/v2"
	"slices"
	"strings"
	"time"

	"example.com/petstore/domain"
	"example.com/petstore/internal/port"
)

// A Seeder adds generated animals and orders to a store, for demonstrations and
// measurements. It is not safe for concurrent use.
type Seeder struct {
	tx        port.Transactor
	random    *rand.Rand
	every     int
	orderable int // generated animals that could be ordered, so far
	now       func() time.Time
}

// NewSeeder returns a Seeder for a store. The same seed generates the same animals and orders; the number of calls of Add
// does not matter. Every orderEvery-th animal that can be ordered is ordered; with 0, none is. now is the clock.
func NewSeeder(tx port.Transactor, seed uint64, orderEvery int, now func() time.Time) *Seeder {
	random := rand.New(rand.NewPCG(seed, 0)) //nolint:gosec // names of animals are no secret
	return &Seeder{tx: tx, random: random, every: orderEvery, now: now}
}

// Add adds n animals and their orders in one transaction, and returns the number of orders. When Add returns, they are
// durable. After an error, nothing was added.
func (s *Seeder) Add(ctx context.Context, n int) (orders int, err error) {
	// Drawn before the transaction: its function may run more than once, and must add the same animals.
	pets, sales := s.draw(n)
	at := s.now()
	err = s.tx.InTx(ctx, func(ctx context.Context, r port.Repositories) error {
		added, err := r.Pets.Create(ctx, pets)
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

// A sale is a generated order of an animal of the batch.
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

// drawEnd generates the end of an order. Of ten orders, five are delivered, two are cancelled and three stay placed
// (nil).
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

// sell orders an animal, and applies a transition to the order unless it is nil.
func sell(ctx context.Context, r port.Repositories, petID int64, by *domain.Transition, at time.Time) error {
	order, err := place(ctx, r, petID, at)
	if err != nil || by == nil {
		return err
	}
	_, _, err = end(ctx, r, order.ID, *by, at)
	return err
}

// seedCategories is the number of categories of generated animals.
const seedCategories = 36

// A generated animal has a given name and, in two of three cases, a byname.
var (
	givenNames = strings.Fields(`
		Rex Luna Bello Minka Simba Nala Rocky Coco Felix Mia Max Lily Charlie Bella Oscar Daisy Balu Kira Sammy Lotte
		Bruno Emma Paco Ronja Hugo Frieda Anton Wilma Otis Paula Fiete Polly Momo Socke Krümel Flöckchen Mäxchen
		Zoë Chloé Renée Łatka Żabka Björk Søren Åse Jürgen Käthe Mušička Čiko Şeker Ñandú Açaí
		小白 花花 さくら モモ 초코 나비
		Барсик Мурка Шарик Рыжик Φοίβος Ρόζα Pip Biscuit Pepper Ginger Mango Olive Maple Clover Noodle Waffles Pickles
		Tofu Mochi Ziggy`)
	bynames = []string{
		"", "", "", "", "", "", " II", " III", " Junior", " the Brave", " the Quiet", " the Swift",
		" the Hungry", " von der Wiese", " de la Luna", " O’Paws", " of Greyfield", " Whiskers",
	}
)

// drawPet generates an animal. Low categories are more frequent, and most animals can be
// ordered.
func drawPet(random *rand.Rand) domain.NewPet {
	name := givenNames[random.IntN(len(givenNames))] + bynames[random.IntN(len(bynames))]
	category := 1 + min(random.IntN(seedCategories), random.IntN(seedCategories))
	return domain.NewPet{Name: name, CategoryID: int64(category), Status: drawStatus(random)}
}

func drawStatus(random *rand.Rand) domain.PetStatus {
	switch draw := random.IntN(100); {
	case draw < 70:
		return domain.PetAvailable
	case draw < 85:
		return domain.PetSold
	case draw < 90:
		return domain.PetPending
	default:
		return ""
	}
}
