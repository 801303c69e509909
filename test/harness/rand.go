package harness

import (
	"math/rand/v2"
	"os"
	"strconv"
	"testing"
)

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
