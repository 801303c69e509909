package petstore_test

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"go.uber.org/zap"
	"go.uber.org/zap/zaptest/observer"

	"example.com/petstore"
	rest "example.com/petstore/delivery/http"
	"example.com/petstore/domain"
	"example.com/petstore/domain/port"
	"example.com/petstore/internal/test/testkit"
)

func TestServiceWithoutChangesRemovesThemUntilAnotherRecordsThem(t *testing.T) {
	t.Parallel()
	store := newEngine(t)
	synctest.Test(t, func(t *testing.T) {
		core, log := observer.New(zap.InfoLevel)
		logged := func(message string) int { return log.FilterMessageSnippet(message).Len() }
		with := newService(t, store, petstore.Options{RecordChanges: true, API: rest.Options{Logger: zap.New(core)}})
		engine, key := mounted(t, with), newKey(t, with)
		wantChanges := func(engine http.Handler, wantStatus int, wantActive bool) domain.Recording {
			t.Helper()
			got := status(t, engine, "/changes", key)
			recording, err := with.Store().Changes().Recording(t.Context())
			if err != nil || got != wantStatus || recording.Active != wantActive {
				t.Errorf("got the status %d, %+v and %v, want %d and active %t", got, recording, err, wantStatus, wantActive)
			}
			return recording
		}
		first := wantChanges(engine, http.StatusOK, true)
		followed := make(chan error, 1)
		go func() { followed <- with.Follow(t.Context(), first.Last, nil) }()
		without := newService(t, store, petstore.Options{API: rest.Options{Logger: zap.New(core)}})
		synctest.Wait()
		wantChanges(mounted(t, without), http.StatusNotFound, false)
		before := logged("began to record changes again")
		time.Sleep(61 * time.Second)
		wantChanges(engine, http.StatusOK, true)
		if logged("removed all changes, because this service does not record them") != 1 || before != 0 ||
			logged("began to record changes again") != 1 {
			t.Errorf("got %d before, and the log %v", before, log.All())
		}
		_, err := with.Store().Changes().List(t.Context(), domain.PageRequest{After: first.Last, Limit: 1})
		if err == nil || err.Error() != domain.ChangesExpired(first.Last).Error() {
			t.Errorf("an earlier position: got %v, want that it has expired", err)
		}
		if err := <-followed; err == nil || err.Error() != domain.ChangesExpired(first.Last).Error() {
			t.Errorf("Follow while no changes were recorded, and after that: got %v, want that its position has expired", err)
		}
	})
}

// Follow also passes the changes of other processes, and changes that are made with InTx, such as the changes of an
// import.
func TestFollowPassesTheChangesOfAllProcessesInOrder(t *testing.T) {
	t.Parallel()
	store := newEngine(t)
	recording := petstore.Options{RecordChanges: true}
	service, other := newService(t, store, recording), newService(t, store, recording)
	rex := domain.NewPet{Name: "Rex", CategoryID: 7}
	for i := range 2 {
		pet, replayed, err := service.Pets().Create(t.Context(), rex, domain.IdempotencyKey{Caller: "delivery", Value: "1"})
		testkit.Equal(t, "Create", rex.WithID(1), pet, err)
		testkit.Equal(t, "replayed", i == 1, replayed)
	}
	testkit.Check(t, other.Store().InTx(t.Context(), func(ctx context.Context, r port.Repositories) error {
		_, err := r.Pets.Create(ctx, slices.Repeat([]domain.NewPet{rex}, 150)) // more animals than a page has
		return err
	}))
	var changes []domain.Change
	full := errors.New("full")
	follow := func(after int64, n int) error {
		changes = nil
		return service.Follow(t.Context(), after, func(ctx context.Context, change domain.Change) error {
			if changes = append(changes, change); len(changes) == 151 { // the other process adds while Follow runs
				_, _, err := other.Orders().Place(ctx, 7, domain.IdempotencyKey{})
				testkit.Check(t, err)
			}
			if len(changes) == n {
				return full
			}
			return nil
		})
	}
	if err := follow(0, 152); !errors.Is(err, full) {
		t.Errorf("got %v, want the error of fn", err)
	}
	for i, change := range changes[:151] {
		if change.Type != domain.ChangePetAdded || change.Pet.ID != int64(i+1) {
			t.Fatalf("got %+v as change %d, want that the animal %d was added", change, i, i+1)
		}
	}
	position := changes[150].Seq
	last, err := service.Changes().Last(t.Context())
	testkit.Equal(t, "Last", position+2, last, err)
	err = follow(position, 2)
	if !errors.Is(err, full) || changes[0].Type != domain.ChangePetUpdated || changes[1].Type != domain.ChangeOrderPlaced || changes[1].Seq != last {
		t.Errorf("from a position: got %v and %+v, want the two changes of the order", err, changes)
	}
	ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
	defer cancel()
	err = service.Follow(ctx, last, func(_ context.Context, change domain.Change) error { return fmt.Errorf("unexpected %+v", change) })
	testkit.WantError(t, "Follow without changes", err, context.DeadlineExceeded)
	err = newService(t, newEngine(t), petstore.Options{}).Follow(t.Context(), 0, nil)
	if err == nil || !strings.Contains(err.Error(), "RecordChanges") {
		t.Errorf("without changes: got %v, want that Follow requires RecordChanges", err)
	}
}
