package engine_test

import (
	"slices"
	"testing"

	"example.com/petstore/internal/engine"
	"example.com/petstore/internal/test/testkit"
)

func TestEveryFailureHasAReason(t *testing.T) {
	t.Parallel()
	all := engine.Failures()
	if len(all) != 15 || !slices.IsSorted(all) {
		t.Errorf("got the failures %v, want 15 in the order of their names", all)
	}
	for _, failure := range all {
		if failure == "" || failure.Reason() == "" {
			t.Errorf("%q has no reason", failure)
		}
	}
	testkit.Equal(t, "the reason of no failure", "", engine.Failure("").Reason())
}
