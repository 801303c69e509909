package repository_test

import (
	"context"
	"testing"
	"time"

	"example.com/petstore/domain"
	"example.com/petstore/internal/port"
	"example.com/petstore/internal/test/testkit"
	"example.com/petstore/repository"
)

// TestFailedRemovalKeepsAllChanges fails the last statement of a removal.
func TestFailedRemovalKeepsAllChanges(t *testing.T) {
	t.Parallel()
	s := open(t, newEngine(t), repository.Options{})
	inTx(t, s, addingMany(2000))
	inTx(t, s, executing("CREATE TRIGGER fails BEFORE DELETE ON changes BEGIN SELECT RAISE(FAIL, 'no'); END"))
	future := time.Now().Add(time.Hour)
	err := s.InTx(t.Context(), func(ctx context.Context, r port.Repositories) error {
		_, err := r.Changes.RemoveOld(ctx, future, future.Add(time.Hour))
		return err
	})
	if err == nil {
		t.Error("the removal did not fail")
	}
	page, err := s.Changes().List(t.Context(), domain.PageRequest{Limit: 1})
	testkit.Equal(t, "the oldest change", page.Latest-1999, page.Next, err)
}
