package usecase

import (
	"maps"
	"slices"
	"testing"
	"time"
)

// If uses cannot be written, they must not use unlimited memory.
func TestPendingUsesAreLimited(t *testing.T) {
	t.Parallel()
	var uses lastUsedTracker
	first, second := time.Unix(1, 0), time.Unix(2, 0)
	for _, at := range []time.Time{first, second} {
		for id := range int64(1030) {
			uses.record(id, at)
		}
	}
	pending := uses.take()
	if ids := slices.Sorted(maps.Keys(pending)); len(ids) != 1024 || ids[1023] != 1023 || !pending[1023].Equal(second) {
		t.Errorf("got the uses %v, want the second of each of the first 1024 keys", pending)
	}
}
