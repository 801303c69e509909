package repository

import (
	"database/sql"
	"testing"
	"testing/synctest"
	"time"

	"example.com/petstore/internal/port"
)

// Two processes claim keys in turn. Every third request of the second process stores nothing. Before the
// second process starts, no key has been claimed for a long time.
func TestClaimExpiresADayLater(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var first, second claimClock
		var newest sql.NullInt64 // the time of the newest claim
		look := func(c *claimClock) {
			if c.stale() {
				c.advance(newest)
			}
		}
		claim := func(c *claimClock) int64 {
			look(c)
			newest = sql.NullInt64{Int64: max(newest.Int64, c.now), Valid: true}
			return c.now
		}
		claim(&first)
		time.Sleep(100 * time.Hour)
		claimed := claim(&second)
		begin := time.Now()
		for step := 1; claimed > first.expired() && claimed > second.expired(); step++ {
			if age := time.Since(begin); age > port.IdempotencyTTL+2*time.Hour {
				t.Fatalf("a claim has not expired after %s", age)
			}
			claim(&first)
			time.Sleep(10 * time.Minute)
			if step%3 == 0 {
				look(&second)
			} else {
				claim(&second)
			}
		}
		if age := time.Since(begin); age < port.IdempotencyTTL {
			t.Errorf("a claim has expired after %s", age)
		}
	})
}
