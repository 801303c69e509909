package repository_test

import (
	"context"
	"errors"
	"testing"
	"time"

	"example.com/petstore/domain/port"
	"example.com/petstore/internal/test/testkit"
	"example.com/petstore/repository"
)

// TestFailedRemovalKeepsAllChanges fails the second statement of a removal.
func TestFailedRemovalKeepsAllChanges(t *testing.T) {
	t.Parallel()
	s := open(t, newEngine(t), repository.Options{})
	inTx(t, s, func(ctx context.Context, r port.Repositories) error {
		_, err := r.Changes.Begin(ctx, time.Now())
		return errors.Join(err, adding("Rex")(ctx, r))
	})
	inTx(t, s, executing("CREATE TRIGGER fails BEFORE DELETE ON changes BEGIN SELECT RAISE(FAIL, 'no'); END"))
	before, err := s.Changes().Recording(t.Context())
	check(t, err)
	err = s.InTx(t.Context(), func(ctx context.Context, r port.Repositories) error {
		_, err := r.Changes.End(ctx)
		return err
	})
	if err == nil {
		t.Error("the removal did not fail")
	}
	after, err := s.Changes().Recording(t.Context())
	testkit.Equal(t, "Recording", before, after, err)
}
