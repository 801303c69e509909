// Package port has the interfaces of the store that the use cases need. Package repository implements them.
package port

import (
	"context"
	"crypto/sha256"
	"time"

	"example.com/petstore/domain"
	"example.com/petstore/domain/apikey"
)

// The methods of the interfaces return the errors that their comments name, and an ErrUnavailable when the database
// fails. Any other error is a defect.

// A PetReader reads the catalogue.
type PetReader interface {
	// Get returns the animal, or an ErrNotFound (pet_not_found).
	Get(ctx context.Context, id int64) (domain.Pet, error)
	// List returns the page that q selects. It does not validate q.
	List(ctx context.Context, q domain.PetQuery) (domain.Page[domain.Pet], error)
	// Inventory returns the numbers of animals in a category. If categoryID is nil, it counts all animals.
	Inventory(ctx context.Context, categoryID *int64) (domain.Inventory, error)
	// Count returns the number of animals with the status. If status is empty, it counts all animals.
	Count(ctx context.Context, status domain.PetStatus) (int64, error)
	// Each calls fn with each animal that has the status, ascending by id. If status is empty, it selects all animals.
	// Each reads one snapshot, one animal at a time, so that memory does not grow with their number. When fn returns an
	// error, Each returns it. When ctx ends, Each returns an ErrUnavailable.
	//
	// One Each or Count of a store runs at a time: fn must call neither. Another call waits, at most for the timeout of the
	// store. Other reads do not wait.
	Each(ctx context.Context, status domain.PetStatus, fn func(domain.Pet) error) error
}

// A PetRepository changes the catalogue.
type PetRepository interface {
	// Get returns the animal, or an ErrNotFound (pet_not_found).
	Get(ctx context.Context, id int64) (domain.Pet, error)
	// Create adds animals, and returns them in the same order. Their ids ascend in this order. They may be inserted just
	// before the commit.
	Create(ctx context.Context, pets []domain.NewPet) ([]domain.Pet, error)
	// Update replaces the animal before, which the transaction has read, by after, which differs from it and has the same id.
	Update(ctx context.Context, before, after domain.Pet) error
	// Remove deletes an animal that the transaction has read.
	Remove(ctx context.Context, pet domain.Pet) error
}

// An OrderFinder finds single orders.
type OrderFinder interface {
	// Get returns the order, or an ErrNotFound (order_not_found).
	Get(ctx context.Context, id int64) (domain.Order, error)
	// Live reports whether the animal has an order that is not cancelled.
	Live(ctx context.Context, petID int64) (bool, error)
}

// An OrderReader reads the orders.
type OrderReader interface {
	OrderFinder
	// List returns the page that q selects. It does not validate q.
	List(ctx context.Context, q domain.OrderQuery) (domain.Page[domain.Order], error)
	// Count is PetReader.Count for orders.
	Count(ctx context.Context, status domain.OrderStatus) (int64, error)
	// Each is PetReader.Each for orders.
	Each(ctx context.Context, status domain.OrderStatus, fn func(domain.Order) error) error
}

// An OrderRepository changes the orders.
type OrderRepository interface {
	OrderFinder
	// Create places an order for an animal that has no other order that is not cancelled.
	Create(ctx context.Context, petID int64, at time.Time) (domain.Order, error)
	// End sets the status and UpdatedAt of an order that the transaction has read as placed.
	End(ctx context.Context, order domain.Order) error
}

// A CategoryReader reads the categories that have a name or an animal.
type CategoryReader interface {
	// List returns the page that q selects. The page and its counts include exactly the changes up to its Position. List
	// does not validate q.
	List(ctx context.Context, q domain.CategoryQuery) (domain.Page[domain.CategoryInventory], error)
	// Count returns the number of categories.
	Count(ctx context.Context) (int64, error)
	// Each is PetReader.Each for categories.
	Each(ctx context.Context, fn func(domain.Category) error) error
}

// A CategoryRepository changes the names of the categories.
type CategoryRepository interface {
	// Find returns the category with the animals that it had before the transaction. Any number is a category: without a
	// name, its name is empty.
	Find(ctx context.Context, id int64) (domain.CategoryInventory, error)
	// SetName names a category. It replaces the name that the category has.
	SetName(ctx context.Context, category domain.Category) error
	// RemoveName removes the name of a category that the transaction has read.
	RemoveName(ctx context.Context, category domain.Category) error
}

// A ChangeReader reads the changes of animals, orders and categories. Each transaction records its changes.
type ChangeReader interface {
	// List returns the changes after the position page.After, ascending by Seq. With After 0 it begins with the oldest
	// change that is kept. It returns an ErrExpired (changes_expired) if a change after the position has been removed, or
	// if the store has never given out the position.
	List(ctx context.Context, page domain.PageRequest) (domain.ChangePage, error)
	// Latest returns the position of the latest change.
	Latest(ctx context.Context) (int64, error)
	// Count returns the number of changes that are kept.
	Count(ctx context.Context) (int64, error)
	// Each is PetReader.Each for changes.
	Each(ctx context.Context, fn func(domain.RecordedChange) error) error
}

// A ChangeRepository removes old changes.
type ChangeRepository interface {
	// RemoveOld deletes a batch of the oldest changes if the last change of the batch is older than from, or newer than
	// to, which means that the clock was wrong. RemoveOld keeps the last 1,000 changes. If it deletes a batch, it returns
	// true; call it again.
	RemoveOld(ctx context.Context, from, to time.Time) (bool, error)
}

// A KeyReader reads the API keys.
type KeyReader interface {
	// FindByHash returns the key, or an ErrUnauthenticated (invalid_api_key). The key may be cached: its LastUsedAt
	// may be older than in the database.
	FindByHash(ctx context.Context, hash apikey.Hash) (apikey.Key, error)
	// List returns all keys, ascending by id.
	List(ctx context.Context) ([]apikey.Key, error)
}

// A KeyRepository changes the API keys. If a time is before the creation of the key, the time of the creation is stored
// instead.
type KeyRepository interface {
	// Get returns the key, or an ErrNotFound.
	Get(ctx context.Context, id int64) (apikey.Key, error)
	// Create stores a key, unless a key with the same hash exists. It reports whether it stored the key.
	Create(ctx context.Context, key apikey.NewKey) (bool, error)
	// Any reports whether a key was ever stored.
	Any(ctx context.Context) (bool, error)
	// Edit sets the name and the scopes of the key. An empty name and empty scopes stay as they are. It reports whether
	// the key exists.
	Edit(ctx context.Context, id int64, name string, scopes apikey.Scopes) (bool, error)
	// Revoke revokes the key from a time on, unless it is already revoked from this or an earlier time on. It reports
	// whether it changed the key.
	Revoke(ctx context.Context, id int64, at time.Time) (bool, error)
	// ScheduleRevocation revokes the key from now plus overlap on, if the key is active at now and no revocation is
	// scheduled. It reports whether it changed the key.
	ScheduleRevocation(ctx context.Context, id int64, now time.Time, overlap time.Duration) (bool, error)
	// SetLastUsed sets the time of the last use of the key to at, if the stored time is at least apikey.UseInterval
	// earlier or there is none.
	SetLastUsed(ctx context.Context, id int64, at time.Time) error
}

// IdempotencyTTL is how long, at least, a retry with the same idempotency key gets the first result.
const IdempotencyTTL = 24 * time.Hour

// A Fingerprint is the SHA-256 of the operation and the values of a request. Requests with the same fingerprint are
// equal.
type Fingerprint [sha256.Size]byte

// A Claim is the first use of an idempotency key by a request.
type Claim struct {
	domain.IdempotencyKey
	Fingerprint Fingerprint
}

// An Outcome is what the store knows of a claimed key: the fingerprint of the request and its result as JSON.
type Outcome struct {
	Fingerprint Fingerprint
	Result      []byte
}

// An IdempotencyRepository stores the results of requests with an idempotency key.
type IdempotencyRepository interface {
	// Claim claims the key for a request, until the transaction ends, and returns true. If an earlier request has
	// completed a claim of the key, and the claim has not expired, Claim returns false and the outcome of the
	// earlier request. A claim expires after IdempotencyTTL, or later if few keys are claimed.
	Claim(ctx context.Context, claim Claim) (Outcome, bool, error)
	// Complete stores a claim and the result of its request.
	Complete(ctx context.Context, claim Claim, result []byte) error
}

// A FileDigest is the SHA-256 of a file. Files with the same digest have the same content.
type FileDigest [sha256.Size]byte

// An ImportRepository stores how many animals of a file have been added, from the first of the file on.
type ImportRepository interface {
	// Added returns the number for a file, 0 for an unknown one.
	Added(ctx context.Context, file FileDigest) (int64, error)
	// SetAdded stores the number for a file.
	SetAdded(ctx context.Context, file FileDigest, added int64) error
}

// Reads are what a function of InTx probably reads: a claim, unless it is the zero Claim, and the animals and the orders with
// these ids. The animal of each order is read, too.
type Reads struct {
	Claim        Claim
	Pets, Orders []int64
}

// Repositories are the repositories within one transaction.
type Repositories struct {
	Pets        PetRepository
	Orders      OrderRepository
	Categories  CategoryRepository
	Changes     ChangeRepository
	Keys        KeyRepository
	Idempotency IdempotencyRepository
	Imports     ImportRepository
}

// A Transactor runs functions as transactions.
type Transactor interface {
	// InTx runs fn in a transaction, and returns nil once the transaction is durable. If fn returns an error, InTx rolls
	// back the transaction and returns the error. fn may run more than once, because of a conflict or because another
	// transaction failed: it must have no effect except through r. It must not use r in another goroutine. If transactions
	// use several stores, all must use the stores in the same order: otherwise two can wait for each other forever.
	//
	// reads says what fn probably reads, so that few queries read that for all functions that share a transaction.
	InTx(ctx context.Context, fn func(ctx context.Context, r Repositories) error, reads ...Reads) error
}
