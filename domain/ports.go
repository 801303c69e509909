package domain

import (
	"context"
	"time"
)

// Every port returns the errors of this package: ErrNotFound where it says so,
// ErrUnavailable when the store cannot answer. Anything else is a defect.

// A PetReader reads the catalogue.
type PetReader interface {
	// Get returns the animal, or an ErrNotFound (pet_not_found).
	Get(ctx context.Context, id int64) (Pet, error)
	// List returns the page, ascending by id.
	List(ctx context.Context, q PetQuery) (Page[Pet], error)
}

// A PetRepository changes the catalogue.
type PetRepository interface {
	PetReader
	// Create adds an animal under an id of its own.
	Create(ctx context.Context, pet NewPet) (Pet, error)
	// CreateAll adds animals as Create adds one, at a fraction of the price, and
	// returns them in the order given. The later one of two has the greater id.
	CreateAll(ctx context.Context, pets []NewPet) ([]Pet, error)
	// Move gives the animal another status if it has one of from, and reports
	// whether it had.
	Move(ctx context.Context, id int64, from []PetStatus, to PetStatus) (bool, error)
}

// An OrderReader reads the orders.
type OrderReader interface {
	// Get returns the order, or an ErrNotFound (order_not_found).
	Get(ctx context.Context, id int64) (Order, error)
	// List returns the page, ascending by id.
	List(ctx context.Context, q OrderQuery) (Page[Order], error)
}

// An OrderRepository changes the orders.
type OrderRepository interface {
	OrderReader
	// Create places an order at a moment. It returns an ErrConflict
	// (pet_not_available) while the animal has another that is not cancelled.
	Create(ctx context.Context, petID int64, at time.Time) (Order, error)
	// Move gives the order another status if it has from, and reports whether it had. Where at is
	// before the order's last update, the order keeps the time of that.
	Move(ctx context.Context, id int64, from, to OrderStatus, at time.Time) (bool, error)
}

// A KeyReader reads the API keys.
type KeyReader interface {
	// Find returns the key with this secret, or an ErrUnauthenticated (invalid_api_key).
	// It asks no store for what has not the form of one.
	Find(ctx context.Context, secret string) (APIKey, error)
	// List returns all keys, ascending by id.
	List(ctx context.Context) ([]APIKey, error)
}

// A KeyRepository changes the API keys. A time before a key's creation counts as its
// creation, so that none that the store keeps is earlier.
type KeyRepository interface {
	KeyReader
	// Get returns the key, or an ErrNotFound.
	Get(ctx context.Context, id int64) (APIKey, error)
	// Create keeps a key unless one with its hash is kept, and reports whether it did.
	Create(ctx context.Context, key NewAPIKey) (bool, error)
	// Any reports whether a key was ever kept.
	Any(ctx context.Context) (bool, error)
	// Revoke ends the key at a moment unless its end is set to that or an earlier
	// one, and reports whether it did.
	Revoke(ctx context.Context, id int64, at time.Time) (bool, error)
	// Retire ends the key an overlap after now if it is active now and no end is set,
	// and reports whether it was.
	Retire(ctx context.Context, id int64, now time.Time, overlap time.Duration) (bool, error)
	// Use notes a use of the key, unless one less than KeyUseInterval before it or
	// later is noted.
	Use(ctx context.Context, id int64, at time.Time) error
}

// An IdempotencyRepository remembers the requests that carried a key.
type IdempotencyRepository interface {
	// Claim takes the key for a request and reports true. Where the key was taken
	// within IdempotencyTTL, it reports false and what it stands for.
	Claim(ctx context.Context, claim Claim) (Outcome, bool, error)
	// Complete keeps the result of the request that claimed the key.
	Complete(ctx context.Context, key IdempotencyKey, result []byte) error
}

// Repositories are all ports within one transaction.
type Repositories struct {
	Pets        PetRepository
	Orders      OrderRepository
	Keys        KeyRepository
	Idempotency IdempotencyRepository
}

// A Transactor runs acts as transactions.
type Transactor interface {
	// InTx runs act and returns nil once all it did is durable. When act returns
	// an error, nothing of it stays and InTx returns that error. An engine may run act
	// again, after a conflict or for another's failure, so act has no effect but
	// through its repositories.
	InTx(ctx context.Context, act func(ctx context.Context, r Repositories) error) error
}
