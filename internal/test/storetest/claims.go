package storetest

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"sync/atomic"
	"testing"

	"example.com/petstore/domain"
	"example.com/petstore/internal/port"
	"example.com/petstore/internal/test/testkit"
)

var firstClaim = port.Claim{
	IdempotencyKey: domain.IdempotencyKey{Caller: "1", Value: "k"},
	Fingerprint:    port.Fingerprint{1},
}

// claim claims the key. If the key was free, claim completes it with result.
func claim(t *testing.T, s Store, c port.Claim, result []byte) (earlier port.Outcome, claimed bool) {
	t.Helper()
	inTx(t, s, func(ctx context.Context, r port.Repositories) (err error) {
		earlier, claimed, err = r.Idempotency.Claim(ctx, c)
		if err != nil || !claimed {
			return err
		}
		return r.Idempotency.Complete(ctx, c, result)
	})
	return earlier, claimed
}

// CreatePets adds animals in a transaction. If the claim has a key, it also claims the key, and stores the animals as the
// result. If there is an earlier claim, it adds nothing and returns the outcome.
func CreatePets(ctx context.Context, s port.Transactor, news []domain.NewPet, c port.Claim) (pets []domain.Pet, earlier *port.Outcome, err error) {
	err = s.InTx(ctx, func(ctx context.Context, r port.Repositories) error {
		pets, earlier = nil, nil
		if !c.IsZero() {
			outcome, claimed, err := r.Idempotency.Claim(ctx, c)
			if err != nil {
				return err
			}
			if !claimed {
				earlier = &outcome
				return nil
			}
		}
		if pets, err = r.Pets.Create(ctx, news); err != nil || c.IsZero() {
			return err
		}
		result, err := json.Marshal(pets)
		return cmp.Or(err, r.Idempotency.Complete(ctx, c, result))
	}, port.Reads{Claim: c})
	return pets, earlier, err
}

func keyIsClaimedOnce(t *testing.T, s Store) {
	key := firstClaim.IdempotencyKey
	claimed := tx(t, s, func(ctx context.Context, r port.Repositories) (bool, error) { // a claim without a result is not stored
		_, claimed, err := r.Idempotency.Claim(ctx, firstClaim)
		return claimed, err
	})
	testkit.Equal(t, "whether a key was claimed", true, claimed)
	for i, step := range []struct {
		key domain.IdempotencyKey
		by  int // the number of the step that has claimed the key, -1 if it is free
	}{
		{key, -1},
		{key, 0},
		{domain.IdempotencyKey{Caller: "2", Value: "k"}, -1},
		{domain.IdempotencyKey{Caller: "1", Value: "K"}, -1},
		{key, 0},
	} {
		outcome := func(step int) (o port.Outcome) {
			o.Result = fmt.Append(nil, "result ", step)
			copy(o.Fingerprint[:], o.Result)
			return o
		}
		var want port.Outcome
		if step.by >= 0 {
			want = outcome(step.by)
		}
		c := port.Claim{IdempotencyKey: step.key, Fingerprint: outcome(i).Fingerprint}
		got, claimed := claim(t, s, c, outcome(i).Result)
		testkit.Equal(t, fmt.Sprintf("step %d: whether the key was claimed", i), step.by < 0, claimed)
		testkit.Equal(t, fmt.Sprintf("step %d: the outcome", i), want, got)
	}
}

// bytesAreReadAsStored stores results, fingerprints and digests with any bytes.
func bytesAreReadAsStored(t *testing.T, s Store) {
	for i, result := range [][]byte{nil, {0}, {0, 1, 0xff, '\'', '?', '$', '1'}, bytes.Repeat([]byte{0xff, 0}, 1<<15)} {
		c := firstClaim
		c.Value = fmt.Sprint("bytes ? $1 @a \\ ", i)
		copy(c.Fingerprint[:], bytes.Repeat([]byte{0, 1, 0xff}, len(c.Fingerprint)))
		_, claimed := claim(t, s, c, result)
		earlier, claimedAgain := claim(t, s, c, nil)
		if !claimed || claimedAgain || earlier.Fingerprint != c.Fingerprint || !bytes.Equal(earlier.Result, result) {
			t.Errorf("result %d: got %d bytes, claimed %t and again %t, want the %d bytes that were stored", i, len(earlier.Result), claimed,
				claimedAgain, len(result))
		}
		file := port.FileDigest(c.Fingerprint)
		file[0] = byte(i)
		setAdded(t, s, file, int64(i+1))
		wantAdded(t, s, file, int64(i+1))
	}
}

// creationAddsAllOnceOrNone adds animals many times at once, so that the calls share a transaction.
// Some calls have a key, some have none, and some have a pet that the database rejects. The rejected
// calls must not make other calls fail.
func creationAddsAllOnceOrNone(t *testing.T, s Store) {
	rex, tom := testkit.Filled[domain.NewPet](t, domain.PetSold), domain.NewPet{Name: "Tom"}
	rex.Name = "Rex"
	invalid := domain.NewPet{Name: "invalid", Status: "unknown"}
	var created, rejected atomic.Int32
	var result atomic.Pointer[[]domain.Pet]
	const n = 8 // the number of calls of each kind
	testkit.Concurrently(t, 4*n, func(caller int) (bool, error) {
		claim := firstClaim
		switch caller % 4 {
		case 0: // all of these have the same key
			pets, earlier, err := CreatePets(t.Context(), s, []domain.NewPet{rex, tom}, claim)
			if earlier == nil {
				created.Add(1)
				result.Store(&pets)
			}
			return true, err
		case 1:
			pets, earlier, err := CreatePets(t.Context(), s, []domain.NewPet{rex}, port.Claim{})
			testkit.Equal(t, "a creation without a key", []domain.Pet{rex.WithID(pets[0].ID)}, pets)
			return earlier == nil, err
		case 2:
			claim.Value = "of a rejected creation"
			if _, _, err := CreatePets(t.Context(), s, []domain.NewPet{tom, invalid}, claim); err != nil {
				rejected.Add(1)
			}
			return true, nil
		default:
			return true, s.InTx(t.Context(), Adding("function"))
		}
	})
	testkit.Equal(t, "the creations with the key, and those that were rejected", [2]int32{1, n}, [2]int32{created.Load(), rejected.Load()})
	WantNames(t, s, slices.Concat([]string{"Rex", "Tom"}, slices.Repeat([]string{"Rex", "function"}, n))...)
	for _, pet := range *result.Load() {
		wantPet(t, s, pet)
	}
	_, earlier, err := CreatePets(t.Context(), s, []domain.NewPet{rex, tom}, firstClaim)
	var stored []domain.Pet
	testkit.Check(t, errors.Join(err, json.Unmarshal(earlier.Result, &stored)))
	testkit.Equal(t, "the stored result", *result.Load(), stored)
	testkit.Equal(t, "the stored fingerprint", firstClaim.Fingerprint, earlier.Fingerprint)
}

// setAdded stores how many animals of a file were added.
func setAdded(t *testing.T, s Store, file port.FileDigest, added int64) {
	t.Helper()
	inTx(t, s, func(ctx context.Context, r port.Repositories) error { return r.Imports.SetAdded(ctx, file, added) })
}

func wantAdded(t *testing.T, s Store, file port.FileDigest, want int64) {
	t.Helper()
	got := tx(t, s, func(ctx context.Context, r port.Repositories) (int64, error) { return r.Imports.Added(ctx, file) })
	testkit.Equal(t, "Added", want, got)
}

func importIsStoredForItsFile(t *testing.T, s Store) {
	file, other := port.FileDigest{1}, port.FileDigest{2}
	wantAdded(t, s, file, 0)
	for _, added := range []int64{2, 4, 0, 3} {
		setAdded(t, s, file, added)
		wantAdded(t, s, file, added)
	}
	wantAdded(t, s, other, 0)
	setAdded(t, s, other, 1)
	wantAdded(t, s, file, 3)
}
