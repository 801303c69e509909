package engine_test

import (
	"slices"
	"testing"

	"example.com/petstore/repository/engine"
)

func TestEveryFailureHasAReason(t *testing.T) {
	t.Parallel()
	all := engine.Failures()
	if len(all) != 14 || !slices.IsSorted(all) {
		t.Errorf("got the failures %v, want 14 in the order of their names", all)
	}
	for _, failure := range all {
		if failure == "" || failure.Reason() == "" {
			t.Errorf("%q has no reason", failure)
		}
	}
	if reason := engine.Failure("").Reason(); reason != "" {
		t.Errorf("no failure has the reason %q", reason)
	}
}
