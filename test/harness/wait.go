package harness

import (
	"math/rand/v2"
	"os"
	"strconv"
	"testing"
	"time"
)

// Eventually waits until condition holds, for 10 seconds at most.
func Eventually(t testing.TB, description string, condition func() bool) {
	t.Helper()
	EventuallyWithin(t, 10*time.Second, description, condition)
}

// EventuallyWithin waits until condition holds, which it checks every 10 ms. On a slow machine,
// PETSTORE_TEST_SCALE multiplies the limit.
func EventuallyWithin(t testing.TB, limit time.Duration, description string, condition func() bool) {
	t.Helper()
	limit = Scaled(limit)
	for start := time.Now(); !condition(); time.Sleep(10 * time.Millisecond) {
		if time.Since(start) > limit {
			t.Fatalf("waited %v until %s", limit, description)
		}
	}
}

// Scaled returns a limit multiplied by PETSTORE_TEST_SCALE.
func Scaled(limit time.Duration) time.Duration {
	if scale, err := strconv.ParseFloat(os.Getenv("PETSTORE_TEST_SCALE"), 64); err == nil && scale > 0 {
		return time.Duration(float64(limit) * scale)
	}
	return limit
}

// Rand returns random numbers for one goroutine. It logs their seed, with which
// PETSTORE_TEST_SEED repeats them.
func Rand(t testing.TB) *rand.Rand {
	t.Helper()
	seed, err := strconv.ParseUint(os.Getenv("PETSTORE_TEST_SEED"), 10, 64)
	if err != nil {
		seed = rand.Uint64()
	}
	t.Logf("PETSTORE_TEST_SEED=%d repeats the random numbers", seed)
	return rand.New(rand.NewPCG(seed, 0))
}
