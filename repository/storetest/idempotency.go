package storetest

import (
	"context"
	"errors"
	"strconv"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"example.com/petstore/domain"
)

var first = domain.Claim{
	IdempotencyKey: domain.IdempotencyKey{Caller: "1", Value: "k"},
	Fingerprint:    domain.Fingerprint{1},
	At:             noon,
}

// claim claims and completes with result where it could.
func claim(t *testing.T, s Store, c domain.Claim, result string) (earlier domain.Outcome, claimed bool) {
	t.Helper()
	inTx(t, s, func(ctx context.Context, r domain.Repositories) (err error) {
		earlier, claimed, err = r.Idempotency.Claim(ctx, c)
		if err != nil || !claimed {
			return err
		}
		return r.Idempotency.Complete(ctx, c.IdempotencyKey, []byte(result))
	})
	return earlier, claimed
}

func keyIsClaimedOnce(t *testing.T, s Store) {
	if _, claimed := claim(t, s, first, "result"); !claimed {
		t.Fatal("the first claim was refused")
	}
	again := first
	again.Fingerprint, again.At = domain.Fingerprint{2}, noon.Add(domain.IdempotencyTTL-time.Millisecond)
	earlier, claimed := claim(t, s, again, "another")
	want := domain.Outcome{Fingerprint: first.Fingerprint, Result: []byte("result")}
	if diff := cmp.Diff(want, earlier); claimed || diff != "" {
		t.Errorf("claimed again: %t; (-want +got)\n%s", claimed, diff)
	}

	for _, free := range []domain.IdempotencyKey{{Caller: "2", Value: "k"}, {Caller: "1", Value: "K"}} {
		other := first
		other.IdempotencyKey = free
		if _, claimed := claim(t, s, other, ""); !claimed {
			t.Errorf("the claim of %v was refused", free)
		}
	}
}

func expiredClaimCanBeClaimed(t *testing.T, s Store) {
	claim(t, s, first, "result")
	later := first
	later.Fingerprint, later.At = domain.Fingerprint{2}, noon.Add(domain.IdempotencyTTL)
	if _, claimed := claim(t, s, later, "another"); !claimed {
		t.Error("an outlived key was refused")
	}
	earlier, _ := claim(t, s, later, "")
	want := domain.Outcome{Fingerprint: later.Fingerprint, Result: []byte("another")}
	if diff := cmp.Diff(want, earlier); diff != "" {
		t.Errorf("(-want +got)\n%s", diff)
	}
}

// expiredClaimsAreRemoved sees through a second claim under each old key's name
// whether it is still known: a swept one is free at the old time, too.
func expiredClaimsAreRemoved(t *testing.T, s Store) {
	key := func(i int) domain.Claim {
		c := first
		c.Value = strconv.Itoa(i)
		return c
	}
	for i := range 4 {
		claim(t, s, key(i), "result")
	}
	for i := range 2 {
		later := key(100 + i)
		later.At = noon.Add(domain.IdempotencyTTL)
		claim(t, s, later, "result")
	}
	for i := range 4 {
		if _, claimed := claim(t, s, key(i), "result"); !claimed {
			t.Errorf("the outlived key %d is still kept", i)
		}
	}
}

func oneOfConcurrentClaimsSucceeds(t *testing.T, s Store) {
	var wins, losses atomic.Int32
	var wait sync.WaitGroup
	for range 20 {
		wait.Go(func() {
			err := s.InTx(t.Context(), func(ctx context.Context, r domain.Repositories) error {
				earlier, claimed, err := r.Idempotency.Claim(ctx, first)
				if err != nil {
					return err
				}
				if !claimed {
					losses.Add(1)
					if string(earlier.Result) != "result" {
						return errors.New("a loser sees no result of the winner")
					}
					return nil
				}
				wins.Add(1)
				return r.Idempotency.Complete(ctx, first.IdempotencyKey, []byte("result"))
			})
			if err != nil {
				t.Error(err)
			}
		})
	}
	wait.Wait()
	if wins.Load() != 1 || losses.Load() != 19 {
		t.Errorf("%d claims won and %d lost, want 1 and 19", wins.Load(), losses.Load())
	}
}
