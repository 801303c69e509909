package petstore_test

import (
	"context"
	"net/http"
	"path/filepath"
	"testing"
	"testing/synctest"
	"time"

	"go.uber.org/zap"
	"go.uber.org/zap/zaptest/observer"

	"example.com/petstore"
	"example.com/petstore/domain"
	"example.com/petstore/domain/port"
	"example.com/petstore/repository/sqlite"
)

func TestServiceWithoutChangesRemovesThem(t *testing.T) {
	t.Parallel()
	store := sqlite.New(filepath.Join(t.TempDir(), "pets.db"))
	service := newService(t, petstore.Options{Store: store, RecordChanges: true})
	if got := status(t, mounted(t, service), "/changes", newKey(t, service)); got != http.StatusOK {
		t.Errorf("got status %d, want 200", got)
	}
	first, err := service.Store().Changes().Recording(t.Context())
	if err != nil || !first.Active {
		t.Errorf("got %+v and %v", first, err)
	}
	core, log := observer.New(zap.InfoLevel)
	const removed = "removed all changes, because this service does not record them"
	without := newService(t, petstore.Options{Store: store, Logger: zap.New(core)})
	for start := time.Now(); log.FilterMessage(removed).Len() == 0; time.Sleep(time.Millisecond) {
		if time.Since(start) > 20*time.Second {
			t.Fatalf("got the log %v", log.All())
		}
	}
	if got := status(t, mounted(t, without), "/changes", newKey(t, without)); got != http.StatusNotFound {
		t.Errorf("without changes: got status %d, want 404", got)
	}
	if recording, err := service.Store().Changes().Recording(t.Context()); err != nil || recording.Active {
		t.Errorf("got %+v and %v, want that no changes are recorded", recording, err)
	}

	again := newService(t, petstore.Options{Store: store, RecordChanges: true})
	_, err = again.Store().Changes().List(t.Context(), domain.PageRequest{After: first.Last, Limit: 1})
	if err == nil || err.Error() != domain.ChangesExpired(first.Last).Error() {
		t.Errorf("an earlier position: got %v, want that it has expired", err)
	}
}

func TestRecordingBeginsAgain(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "pets.db")
	synctest.Test(t, func(t *testing.T) {
		service := newService(t, petstore.Options{Store: sqlite.New(path), RecordChanges: true})
		changes := service.Store().Changes()
		err := service.Store().InTx(t.Context(), func(ctx context.Context, r port.Repositories) error {
			_, err := r.Changes.End(ctx) // as a process does that records none
			return err
		})
		if recording, readErr := changes.Recording(t.Context()); err != nil || readErr != nil || recording.Active {
			t.Errorf("got %+v, %v and %v, want no recording", recording, err, readErr)
		}
		time.Sleep(61 * time.Second)
		if recording, err := changes.Recording(t.Context()); err != nil || !recording.Active {
			t.Errorf("after a minute: got %+v and %v", recording, err)
		}
		if err := service.Close(); err != nil {
			t.Error(err)
		}
	})
}
