// Package port says what the use cases need of a store. Package repository implements it. It is not
// for embedders.
package port

import (
	"context"
	"crypto/sha256"
	"time"

	"example.com/petstore/domain"
	"example.com/petstore/domain/apikey"
)

// The methods of the ports return the errors that their comments name, and ErrUnavailable
// when the database fails. Any other error is a defect.

// A PetReader reads the catalogue.
type PetReader interface {
	// Get returns the animal, or an ErrNotFound (pet_not_found).
	Get(ctx context.Context, id int64) (domain.Pet, error)
	// List returns the page.
	List(ctx context.Context, q domain.PetQuery) (domain.Page[domain.Pet], error)
	// Inventory returns the numbers of the animals of a category, or of all if it is nil.
	Inventory(ctx context.Context, categoryID *int64) (domain.Inventory, error)
	// Count returns the number of animals with the status, or of all if it is empty.
	Count(ctx context.Context, status domain.PetStatus) (int64, error)
	// Each calls fn with each animal with the status, or with all if it is empty, ascending
	// by id. All are read from one snapshot and one by one, so that memory does not grow with
	// their number. Each stops when fn returns an error, and returns that error. It stops
	// with an ErrUnavailable when ctx ends. In a transaction fn must not use its Repositories.
	Each(ctx context.Context, status domain.PetStatus, fn func(domain.Pet) error) error
}

// A PetRepository changes the catalogue.
type PetRepository interface {
	PetReader
	// Create adds animals and returns them in the same order. Their ids increase in that order.
	Create(ctx context.Context, pets []domain.NewPet) ([]domain.Pet, error)
	// ChangeStatusIf changes the status of the animal to to if it is one of from, and reports
	// whether it did.
	ChangeStatusIf(ctx context.Context, id int64, from []domain.PetStatus, to domain.PetStatus) (bool, error)
	// Replace changes the animal from.ID to to if it is as from, and reports whether it did.
	Replace(ctx context.Context, from, to domain.Pet) (bool, error)
	// Remove deletes the animal if it is as pet, and reports whether it did.
	Remove(ctx context.Context, pet domain.Pet) (bool, error)
}

// An OrderReader reads the orders.
type OrderReader interface {
	// Get returns the order, or an ErrNotFound (order_not_found).
	Get(ctx context.Context, id int64) (domain.Order, error)
	// List returns the page.
	List(ctx context.Context, q domain.OrderQuery) (domain.Page[domain.Order], error)
	// Live reports whether the animal has an order that is not cancelled.
	Live(ctx context.Context, petID int64) (bool, error)
	// Count is PetReader.Count for orders.
	Count(ctx context.Context, status domain.OrderStatus) (int64, error)
	// Each is PetReader.Each for orders.
	Each(ctx context.Context, status domain.OrderStatus, fn func(domain.Order) error) error
}

// An OrderRepository changes the orders.
type OrderRepository interface {
	OrderReader
	// Create places an order. It returns an ErrConflict (pet_not_available) while the
	// animal has another order that is not cancelled.
	Create(ctx context.Context, petID int64, at time.Time) (domain.Order, error)
	// ChangeStatusIf changes the status of the order to to if it is from, and reports whether it
	// did. UpdatedAt becomes at, unless it is already later.
	ChangeStatusIf(ctx context.Context, id int64, from, to domain.OrderStatus, at time.Time) (bool, error)
}

// A ChangeReader reads the changes of animals and orders.
type ChangeReader interface {
	// List returns the changes after the position page.After, ascending by Seq, from the oldest one
	// that is kept if it is 0. It returns an ErrExpired (changes_expired) for a position before those
	// that are kept or after the last one, and an ErrUnavailable if none are recorded.
	List(ctx context.Context, page domain.PageRequest) (domain.ChangePage, error)
	// Recording returns which changes are recorded.
	Recording(ctx context.Context) (domain.Recording, error)
	// Count returns the number of changes that are kept.
	Count(ctx context.Context) (int64, error)
	// Each is PetReader.Each for changes.
	Each(ctx context.Context, fn func(domain.Change) error) error
}

// A ChangeRepository begins and ends the recording of changes, which the database does itself.
type ChangeRepository interface {
	ChangeReader
	// Begin begins to record changes, unless they are recorded. It first deletes the changes of an earlier
	// recording, in batches: while some are left, it deletes a batch and returns true: call again. The positions are
	// above the positions of the earlier recording and, in microseconds since 1970, above at, by a random number:
	// the positions of another store, such as the one of which this is a backup, are not used again.
	Begin(ctx context.Context, at time.Time) (bool, error)
	// RemoveOld deletes a batch of the oldest changes if the last change of the batch is outside from to to; after
	// to means that the clock was wrong. It leaves the last 1,000 changes. If it deletes a batch, it returns
	// true: call again.
	RemoveOld(ctx context.Context, from, to time.Time) (bool, error)
	// End ends the recording of changes and deletes a batch of the oldest. If there are more, it returns
	// true: call again.
	End(ctx context.Context) (bool, error)
}

// A KeyReader reads the API keys.
type KeyReader interface {
	// FindByHash returns the key, or an ErrUnauthenticated (invalid_api_key). LastUsedAt may
	// be older than the stored one.
	FindByHash(ctx context.Context, hash apikey.Hash) (apikey.Key, error)
	// List returns all keys, ascending by id.
	List(ctx context.Context) ([]apikey.Key, error)
}

// A KeyRepository changes the API keys. A time before the creation of a key is stored as
// the time of its creation.
type KeyRepository interface {
	KeyReader
	// Get returns the key, or an ErrNotFound.
	Get(ctx context.Context, id int64) (apikey.Key, error)
	// Create stores a key unless one with its hash exists, and reports whether it did.
	Create(ctx context.Context, key apikey.NewKey) (bool, error)
	// Any reports whether a key was ever stored.
	Any(ctx context.Context) (bool, error)
	// Revoke revokes the key at a time, unless it is already revoked at that or an earlier
	// time, and reports whether it did.
	Revoke(ctx context.Context, id int64, at time.Time) (bool, error)
	// ScheduleRevocation revokes the key at now plus overlap if it is active at now and no
	// revocation is scheduled, and reports whether it did.
	ScheduleRevocation(ctx context.Context, id int64, now time.Time, overlap time.Duration) (bool, error)
	// SetLastUsed sets the time of the last use of the key, unless the stored one is less
	// than apikey.UseInterval earlier, or later.
	SetLastUsed(ctx context.Context, id int64, at time.Time) error
}

// IdempotencyTTL is how long a key returns its first result.
const IdempotencyTTL = 24 * time.Hour

// A Fingerprint is the SHA-256 of a request's operation and values. Two requests with the
// same fingerprint are the same.
type Fingerprint [sha256.Size]byte

// A Claim is the first use of an idempotency key by a request.
type Claim struct {
	domain.IdempotencyKey
	Fingerprint Fingerprint
}

// An Outcome is the stored state of a claimed key: the fingerprint of its request and the
// result as JSON, nil while there is none.
type Outcome struct {
	Fingerprint Fingerprint
	Result      []byte
}

// An IdempotencyRepository stores the results of requests with an idempotency key.
type IdempotencyRepository interface {
	// Claim claims the key for a request, while the transaction runs, and returns true. If a
	// claim of the key within IdempotencyTTL before was completed, or earlier if few keys were claimed since, Claim
	// returns false and the outcome of that request.
	Claim(ctx context.Context, claim Claim) (Outcome, bool, error)
	// Complete stores a claim and the result of its request.
	Complete(ctx context.Context, claim Claim, result []byte) error
}

// A FileDigest is the SHA-256 of a file. Two files with the same digest have the same
// content.
type FileDigest [sha256.Size]byte

// An ImportState is how far a file has been imported. The zero value is a file of which
// nothing was imported.
type ImportState struct {
	Added    int64 // the number of its animals that were added, from the first on
	Complete bool  // all were added
}

// An ImportRepository stores how far files have been imported.
type ImportRepository interface {
	// Find returns the state of a file, which is the zero value for an unknown one.
	Find(ctx context.Context, file FileDigest) (ImportState, error)
	// Advance changes the state of a file to to if it is from, and reports whether it did.
	Advance(ctx context.Context, file FileDigest, from, to ImportState, at time.Time) (bool, error)
}

// Repositories are the ports within one transaction.
type Repositories struct {
	Pets        PetRepository
	Orders      OrderRepository
	Changes     ChangeRepository
	Keys        KeyRepository
	Idempotency IdempotencyRepository
	Imports     ImportRepository
}

// A Transactor runs functions as transactions.
type Transactor interface {
	// InTx runs fn in a transaction and returns nil once that is durable. When fn returns
	// an error, InTx rolls back the transaction and returns that error. fn may run more than
	// once, because of a conflict or because another transaction failed, so it must have no
	// effect except through r. fn must not use r in another goroutine.
	InTx(ctx context.Context, fn func(ctx context.Context, r Repositories) error) error
	// CreatePets adds animals in a transaction, all or none, and returns them once that is durable. It
	// takes less time than InTx when many call it. If claim has a key, CreatePets also claims it, and
	// stores the animals as the result; if the key was claimed before, as Claim says, it adds
	// nothing and returns the outcome of that request.
	CreatePets(ctx context.Context, pets []domain.NewPet, claim Claim) ([]domain.Pet, *Outcome, error)
}
