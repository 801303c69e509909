package repository

import (
	"database/sql"
	"testing"
	"testing/synctest"
	"time"

	"example.com/petstore/domain/port"
)

// Two processes claim keys in turn. Before the second of them starts, no key has been claimed for long.
func TestClaimExpiresADayLater(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var first, second claimClock
		var newest sql.NullInt64 // claim
		claim := func(c *claimClock) int64 {
			if c.stale() {
				c.advance(newest)
			}
			newest = sql.NullInt64{Int64: max(newest.Int64, c.now), Valid: true}
			return c.now
		}
		claim(&first)
		time.Sleep(100 * time.Hour)
		claimed := claim(&second)
		begin := time.Now()
		for claimed > first.expired() && claimed > second.expired() {
			if age := time.Since(begin); age > port.IdempotencyTTL+2*time.Hour {
				t.Fatalf("a claim has not expired after %s", age)
			}
			claim(&first)
			time.Sleep(10 * time.Minute)
			claim(&second)
		}
		if age := time.Since(begin); age < port.IdempotencyTTL {
			t.Errorf("a claim has expired after %s", age)
		}
	})
}
