package petstore_test

import (
	"net/http"
	"testing"
	"testing/synctest"
	"time"

	"go.uber.org/zap"
	"go.uber.org/zap/zaptest/observer"

	"example.com/petstore"
	rest "example.com/petstore/delivery/http"
	"example.com/petstore/domain"
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
	})
}
