// Package storetest is the test suite of a store. Its tests are the contract of every engine. The tests of
// package repository and of the packages below it use its functions.
package storetest

import (
	"context"
	"errors"
	"slices"
	"testing"
	"time"

	"example.com/petstore/domain"
	"example.com/petstore/internal/port"
	"example.com/petstore/internal/test/testkit"
)

// A Store is a store to be tested.
type Store interface {
	port.Transactor
	Pets() port.PetReader
	Orders() port.OrderReader
	Categories() port.CategoryReader
	Changes() port.ChangeReader
	Keys() port.KeyReader
	Ping(ctx context.Context) error
	Waiting() int
}

// Run runs the suite. open returns a new empty store, whose Options.SearchWindow is the constant.
func Run(t *testing.T, open func(t *testing.T) Store) {
	for name, test := range map[string]func(*testing.T, Store){
		"pets are read as created":                        petsAreReadAsCreated,
		"pets are created together":                       petsAreCreatedTogether,
		"concurrent reads get their own records":          concurrentReadsGetTheirOwnRecords,
		"a failed transaction is rolled back":             failedTransactionIsRolledBack,
		"an ended transaction cannot be used":             endedTransactionCannotBeUsed,
		"a transaction reads its writes":                  transactionReadsItsWrites,
		"an added pet is updated and removed":             addedPetIsUpdatedAndRemovedInItsTransaction,
		"a canceled context is unavailable":               canceledContextIsUnavailable,
		"an order is read as placed, and as it has ended": orderIsReadAsItHasEnded,
		"a pet has one order that is not cancelled":       petHasOneUncancelledOrder,
		"bytes are read as stored":                        bytesAreReadAsStored,
		"a pet is updated and removed":                    petIsUpdatedAndRemoved,
		"the inventory counts what is committed":          inventoryCountsWhatIsCommitted,
		"a category is named and its name removed":        categoryIsNamedAndItsNameRemoved,
		"categories are listed in pages":                  categoriesAreListedInPages,
		"changes are those of the transactions":           changesAreThoseOfTheTransactions,
		"old changes are removed":                         oldChangesAreRemoved,
		"a key is edited":                                 keyIsEdited,
		"keys are read as created":                        keysAreReadAsCreated,
		"a key is revoked at the earliest time":           keyIsRevokedAtEarliestTime,
		"a revocation is scheduled once":                  revocationIsScheduledOnce,
		"the last use of a key is set once per interval":  lastUseIsSetOncePerInterval,
		"a key is claimed once":                           keyIsClaimedOnce,
		"an operation sees those before it in its batch":  operationSeesThoseBeforeItInItsBatch,
		"a creation adds all of its pets once, or none":   creationAddsAllOnceOrNone,
		"an import is stored for its file":                importIsStoredForItsFile,
		"each record is read once in order":               eachRecordIsReadOnceInOrder,
		"each reads one snapshot":                         eachReadsOneSnapshot,
		"a search finds what a scan finds":                searchFindsWhatAScanFinds,
		"a search reads a window":                         searchReadsAWindow,
		"a search finds all during changes":               searchFindsAllDuringChanges,
		"each stops at an error and with its context":     eachStopsAtAnErrorAndAtTheEndOfItsContext,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := open(t)
			test(t, s)
			if !removesChanges[name] {
				WantConsistent(t, s)
			}
		})
	}
}

// removesChanges are the tests after which a replay of the changes has not all records.
var removesChanges = map[string]bool{"old changes are removed": true}

var noon = time.Date(2026, time.November, 20, 12, 0, 0, 0, time.UTC)

// addPets adds pets, each in its own transaction.
func addPets(t *testing.T, s Store, news ...domain.NewPet) []domain.Pet {
	t.Helper()
	pets := make([]domain.Pet, len(news))
	for i, pet := range news {
		pets[i] = addTogether(t, s, []domain.NewPet{pet})[0]
	}
	return pets
}

// addTogether adds pets in one transaction.
func addTogether(t *testing.T, s Store, news []domain.NewPet) []domain.Pet {
	t.Helper()
	return tx(t, s, func(ctx context.Context, r port.Repositories) ([]domain.Pet, error) {
		return r.Pets.Create(ctx, news)
	})
}

// movePet changes the status of a pet.
func movePet(t *testing.T, s Store, id int64, to domain.PetStatus) {
	t.Helper()
	inTx(t, s, func(ctx context.Context, r port.Repositories) error {
		pet, err := r.Pets.Get(ctx, id)
		if err != nil {
			return err
		}
		after := pet
		after.Status = to
		return r.Pets.Update(ctx, pet, after)
	})
}

// inTx runs fn in a transaction that must succeed.
func inTx(t *testing.T, s Store, fn TxFunc) {
	t.Helper()
	testkit.Check(t, s.InTx(t.Context(), fn))
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

// A TxFunc is the argument of InTx.
type TxFunc = func(context.Context, port.Repositories) error

// Adding returns a function that adds a pet.
func Adding(name string) TxFunc {
	return func(ctx context.Context, r port.Repositories) error {
		_, err := r.Pets.Create(ctx, []domain.NewPet{{Name: name}})
		return err
	}
}

// WantNames expects the pets with these names, in any order.
func WantNames(t testing.TB, s Store, want ...string) {
	t.Helper()
	pets, err := collect(t.Context(), "", s.Pets().Each)
	var got []string
	for _, pet := range pets {
		got = append(got, pet.Name)
	}
	slices.Sort(got)
	testkit.Equal(t, "the names of the pets", slices.Sorted(slices.Values(want)), got, err)
}
