// Package storetest is the test suite of a store: its tests are the contract of every
// engine. The functions that all tests of package repository and below use are in expect.go.
package storetest

import (
	"context"
	"errors"
	"testing"
	"time"

	"example.com/petstore/domain"
	"example.com/petstore/domain/port"
)

// A Store is a store to be tested.
type Store interface {
	port.Transactor
	Pets() port.PetReader
	Orders() port.OrderReader
	Changes() port.ChangeReader
	Keys() port.KeyReader
	Ping(ctx context.Context) error
}

// Run runs the suite. open returns a new empty store.
func Run(t *testing.T, open func(t *testing.T) Store) {
	for name, test := range map[string]func(*testing.T, Store){
		"pets are read as created":                       petsAreReadAsCreated,
		"pets are created together":                      petsAreCreatedTogether,
		"concurrent reads get their own records":         concurrentReadsGetTheirOwnRecords,
		"concurrent pages are those of their queries":    concurrentPagesAreThoseOfTheirQueries,
		"a failed transaction is rolled back":            failedTransactionIsRolledBack,
		"an ended transaction cannot be used":            endedTransactionCannotBeUsed,
		"a transaction reads its writes":                 transactionReadsItsWrites,
		"a canceled context is unavailable":              canceledContextIsUnavailable,
		"orders are read as placed":                      ordersAreReadAsPlaced,
		"an order changes its status once":               orderChangesStatusOnce,
		"a pet has one order that is not cancelled":      petHasOneUncancelledOrder,
		"a rejected order leaves the transaction":        rejectedOrderLeavesTheTransaction,
		"bytes are read as stored":                       bytesAreReadAsStored,
		"an order references a pet":                      orderReferencesPet,
		"a pet changes from the given statuses":          petChangesFromGivenStatuses,
		"a page of a category has its pets":              pageOfCategoryHasItsPets,
		"changes are those of the transactions":          changesAreThoseOfTheTransactions,
		"a page of changes is exact":                     pageOfChangesIsExact,
		"old changes are removed":                        oldChangesAreRemoved,
		"changes end and begin again":                    changesEndAndBeginAgain,
		"keys are read as created":                       keysAreReadAsCreated,
		"a key is revoked at the earliest time":          keyIsRevokedAtEarliestTime,
		"a revocation is scheduled once":                 revocationIsScheduledOnce,
		"the last use of a key is set once per interval": lastUseIsSetOncePerInterval,
		"a key has no time before its creation":          keyTimesAreNotBeforeItsCreation,
		"a key is claimed once until it expires":         keyIsClaimedOnceUntilItExpires,
		"a claim without a result is not stored":         claimWithoutResultIsNotStored,
		"expired claims are removed":                     expiredClaimsAreRemoved,
		"an import advances from its state":              importAdvancesFromItsState,
		"each record is read once in order":              eachRecordIsReadOnceInOrder,
		"each reads one snapshot":                        eachReadsOneSnapshot,
		"each stops at an error and with its context":    eachStopsAtAnErrorAndAtTheEndOfItsContext,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			test(t, open(t))
		})
	}
}

var noon = time.Date(2026, time.November, 20, 12, 0, 0, 0, time.UTC)

// addPets adds pets, each in its own transaction.
func addPets(t *testing.T, s Store, news ...domain.NewPet) []domain.Pet {
	t.Helper()
	pets := make([]domain.Pet, len(news))
	for i, pet := range news {
		pets[i] = tx(t, s, func(ctx context.Context, r port.Repositories) (domain.Pet, error) { return r.Pets.Create(ctx, pet) })
	}
	return pets
}

// inTx runs fn in a transaction that must succeed.
func inTx(t *testing.T, s Store, fn TxFunc) {
	t.Helper()
	Check(t, s.InTx(t.Context(), fn))
}

// tx returns the result of fn in a transaction that must succeed.
func tx[T any](t *testing.T, s Store, fn func(context.Context, port.Repositories) (T, error)) (result T) {
	t.Helper()
	inTx(t, s, func(ctx context.Context, r port.Repositories) (err error) {
		result, err = fn(ctx, r)
		return err
	})
	return result
}

// wantCode checks the kind and code of err.
func wantCode(t *testing.T, err error, kind domain.Kind, code domain.Code) {
	t.Helper()
	var known *domain.Error
	if !errors.Is(err, kind) || !errors.As(err, &known) || known.Code != code {
		t.Errorf("got the error %v, want %q (%s)", err, kind, code)
	}
}
