package petstore_test

import (
	"net/http"
	"path/filepath"
	"testing"
	"testing/synctest"
	"time"

	"go.uber.org/zap"
	"go.uber.org/zap/zaptest/observer"

	"example.com/petstore"
	"example.com/petstore/domain"
	"example.com/petstore/repository/sqlite"
)

func TestServiceWithoutChangesRemovesThemUntilAnotherRecordsThem(t *testing.T) {
	t.Parallel()
	store := sqlite.New(filepath.Join(t.TempDir(), "pets.db"))
	synctest.Test(t, func(t *testing.T) {
		with := newService(t, petstore.Options{Store: store, RecordChanges: true})
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
		core, log := observer.New(zap.InfoLevel)
		without := newService(t, petstore.Options{Store: store, Logger: zap.New(core)})
		synctest.Wait()
		if log.FilterMessage("removed all changes, because this service does not record them").Len() != 1 {
			t.Errorf("got the log %v", log.All())
		}
		wantChanges(mounted(t, without), http.StatusNotFound, false)

		time.Sleep(61 * time.Second)
		wantChanges(engine, http.StatusOK, true)
		_, err := with.Store().Changes().List(t.Context(), domain.PageRequest{After: first.Last, Limit: 1})
		if err == nil || err.Error() != domain.ChangesExpired(first.Last).Error() {
			t.Errorf("an earlier position: got %v, want that it has expired", err)
		}
	})
}
