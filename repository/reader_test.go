package repository

import (
	"context"
	"testing"
	"time"

	"gorm.io/gorm"

	"example.com/petstore/domain"
	"example.com/petstore/internal/batch"
	"example.com/petstore/internal/test/testkit"
)

// The race detector finds a read that uses its result although it has left the run that writes the result.
func TestReadThatLeavesItsBatchUsesNoResult(t *testing.T) {
	t.Parallel()
	none := func(err error) error { return err }
	db := &gorm.DB{Config: &gorm.Config{Dialector: dialector{}}}
	r := reader[domain.Pet]{
		readers: newReaders(db, true, 1, time.Minute, func() error { return nil }, none), table: petTable,
	}
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	left := make(chan struct{})
	run := func(_ context.Context, _ time.Time, take func() []*readByID[domain.Pet]) error {
		testkit.WaitUntil(t, "the second call is queued", func() bool { return r.shared.Waiting() == 2 })
		reads := take()
		cancel()
		reads[1].found = []domain.Pet{} // while the call leaves
		<-left
		return nil
	}
	r.shared = batch.New(batch.Options{Size: 2, Leave: true, Timeout: time.Minute}, run)
	defer r.shared.Close()
	leader := make(chan error, 1)
	go func() {
		_, err := r.Get(t.Context(), 1)
		leader <- err
	}()
	testkit.WaitUntil(t, "the first call leads", func() bool { return r.shared.Waiting() == 1 })
	_, err := r.Get(ctx, 2)
	close(left)
	testkit.WantError(t, "the call that has left", err, domain.ErrUnavailable)
	testkit.WantError(t, "the leader", <-leader, domain.ErrNotFound)
}
