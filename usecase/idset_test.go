package usecase

import "testing"

func TestIDSetKeepsABitForEachID(t *testing.T) {
	t.Parallel()
	set := idSet{}
	for id := range int64(64_000) {
		if !set.add(id + 1) {
			t.Fatalf("the set has had the id %d", id+1)
		}
	}
	if set.add(64) || set.add(64_000) || !set.add(64_001) || !set.add(1<<62) || set.add(1<<62) {
		t.Error("want that the set has what was added, and nothing else")
	}
	if len(set) != 64_000/64+2 {
		t.Errorf("got %d words, want one for 64 ids", len(set))
	}
}
