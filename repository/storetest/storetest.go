// Package storetest is the contract that every engine of the store keeps: one
// suite of tests, run on each.
package storetest

import (
	"context"
	"errors"
	"testing"
	"time"

	"example.com/petstore/domain"
)

// A Store is what the suite tests.
type Store interface {
	domain.Transactor
	Pets() domain.PetReader
	Orders() domain.OrderReader
	Keys() domain.KeyReader
	Ping(ctx context.Context) error
}

// Run runs the suite. open returns an empty store of the test's own.
func Run(t *testing.T, open func(t *testing.T) Store) {
	for name, test := range map[string]func(*testing.T, Store){
		"a pet is read as it was added":                petIsReadAsAdded,
		"pets are added together":                      petsAreAddedTogether,
		"ids start at one and grow":                    idsGrow,
		"an unknown pet is not found":                  unknownPetIsNotFound,
		"a page holds what its query asks for":         pageHoldsWhatIsAskedFor,
		"an empty store has empty lists":               emptyLists,
		"a failed act leaves nothing":                  failedActLeavesNothing,
		"a panic leaves nothing and the store working": panicLeavesNothing,
		"an act reads what it wrote":                   actReadsItsWrites,
		"an ended request is unavailable":              endedRequestIsUnavailable,
		"an order is read as it was placed":            orderIsReadAsPlaced,
		"an order moves once":                          orderMovesOnce,
		"the times of an order do not go back":         orderTimesDoNotGoBack,
		"a pet has one live order":                     petHasOneLiveOrder,
		"an order needs its pet":                       orderNeedsItsPet,
		"a pet moves from the statuses named":          petMovesFromTheStatusesNamed,
		"orders are filtered":                          ordersAreFiltered,
		"a key is read as it was kept":                 keyIsReadAsKept,
		"an unknown key is not found":                  unknownKeyIsNotFound,
		"a key is kept once":                           keyIsKeptOnce,
		"a key is revoked at the earliest moment":      keyIsRevokedAtTheEarliestMoment,
		"a key is retired once, while it is active":    keyIsRetiredOnceWhileActive,
		"the use of a key moves forward by intervals":  keyUseMovesForwardByIntervals,
		"a key has no time before its creation":        keyTimesAreNotBeforeItsCreation,
		"a claim is taken once":                        claimIsTakenOnce,
		"an outlived claim is free again":              outlivedClaimIsFree,
		"outlived claims are swept":                    outlivedClaimsAreSwept,
		"one of many claims at once wins":              oneClaimWins,
		"a store answers a ping":                       storeAnswersPing,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			test(t, open(t))
		})
	}
}

var noon = time.Date(2026, time.November, 20, 12, 0, 0, 0, time.UTC)

// add adds pets, each in a transaction of its own.
func add(t *testing.T, s Store, news ...domain.NewPet) []domain.Pet {
	t.Helper()
	pets := make([]domain.Pet, len(news))
	for i, pet := range news {
		inTx(t, s, func(ctx context.Context, r domain.Repositories) (err error) {
			pets[i], err = r.Pets.Create(ctx, pet)
			return err
		})
	}
	return pets
}

func inTx(t *testing.T, s Store, act func(context.Context, domain.Repositories) error) {
	t.Helper()
	if err := s.InTx(t.Context(), act); err != nil {
		t.Fatal(err)
	}
}

func wantError(t *testing.T, err error, kind domain.Kind, code domain.Code) {
	t.Helper()
	var known *domain.Error
	if !errors.Is(err, kind) || !errors.As(err, &known) || known.Code != code {
		t.Errorf("got the error %v, want %q (%s)", err, kind, code)
	}
}

func storeAnswersPing(t *testing.T, s Store) {
	if err := s.Ping(t.Context()); err != nil {
		t.Error(err)
	}
}
