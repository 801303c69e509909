package freshness_test

import (
	"testing"

	"example.com/petstore/repository/engine"
	"example.com/petstore/repository/freshness"
)

// Nobody can poll during a slow checkpoint, but other processes can commit.
func TestNumbersIncreaseWhileNobodyPolls(t *testing.T) {
	t.Parallel()
	v := newVersions(t, database{poll: none})
	if err := v.Poll(); err != nil {
		t.Fatal(err)
	}
	got := increases(v, func() {
		before := v.Keys()
		waitUntil(t, "the numbers have increased twice", func() bool { return v.Keys() > before+1 })
	})
	if got != engine.AllChanges {
		t.Errorf("got increases of %+v, want all", got)
	}
}

func TestPollIsOverdueAfterTwoTicksWithoutOne(t *testing.T) {
	t.Parallel()
	var check freshness.PollCheck
	for i, step := range []struct {
		polls   uint64
		overdue bool
	}{{1, false}, {3, false}, {0, false}, {1, false}, {0, false}, {0, true}, {0, true}, {1, false}} {
		if got := check.Tick(step.polls); got != step.overdue {
			t.Fatalf("tick %d: got overdue %t, want %t", i, got, step.overdue)
		}
	}
}
