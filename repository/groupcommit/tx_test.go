package groupcommit_test

import (
	"context"
	"testing"

	"example.com/petstore/internal/test/testkit"
	"example.com/petstore/repository/engine"
)

func TestCommitGetsTheMarkedChanges(t *testing.T) {
	t.Parallel()
	q := openQueue(t)
	for _, want := range []engine.Changes{{}, {Added: true}, {Changed: true}, {Keys: true}} {
		rows := map[bool]int64{true: 1}
		check(t, q.Do(t.Context(), func(_ context.Context, n names) error {
			n.MarkAdded(rows[want.Added])
			n.MarkChanged(rows[want.Changed])
			n.MarkKeysChanged(rows[want.Keys])
			n.MarkDirty(1)
			return nil
		}))
		testkit.Equal(t, "the changes of the last commit", want, q.committed[len(q.committed)-1])
	}
}
