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
	rest "example.com/petstore/delivery/http"
	"example.com/petstore/internal/test/enginetest"
	"example.com/petstore/internal/test/testkit"
)

func TestKeyUsesAreStoredOnClose(t *testing.T) {
	t.Parallel()
	store := newEngine(t)
	first := newService(t, store, petstore.Options{})
	if got := status(t, mounted(t, first), "/pets", newKey(t, first)); got != http.StatusOK {
		t.Errorf("got status %d, want 200", got)
	}
	testkit.Check(t, first.Close())
	keys, err := newService(t, store, petstore.Options{}).Keys().List(t.Context())
	if err != nil || keys[0].LastUsedAt == nil {
		t.Errorf("got keys %+v and error %v, want the last use of one", keys, err)
	}
}

// TestFirstFailedWriteOfKeyUsesIsLogged sends only requests that read. No other error says that writes
// fail.
func TestFirstFailedWriteOfKeyUsesIsLogged(t *testing.T) {
	t.Parallel()
	database := enginetest.Database{Driver: enginetest.SQLite, DSN: filepath.Join(t.TempDir(), "pets.db")}
	synctest.Test(t, func(t *testing.T) {
		core, log := observer.New(zap.WarnLevel)
		service := newService(t, database.Engine(), petstore.Options{API: rest.Options{Logger: zap.New(core)}})
		engine, first, second := mounted(t, service), newKey(t, service), newKey(t, service)
		want := func(want int) {
			t.Helper()
			if got := log.FilterMessage("cannot store when API keys were last used").Len(); got != want || log.Len() != want {
				t.Errorf("got the log %v, want %d entries", log.All(), want)
			}
		}
		status(t, engine, "/pets", first)
		database.Exec(t, "ALTER TABLE api_keys RENAME TO removed")
		time.Sleep(6 * time.Second)
		want(1)
		time.Sleep(5 * time.Second)
		want(1)
		database.Exec(t, "ALTER TABLE removed RENAME TO api_keys")
		time.Sleep(5 * time.Second)
		status(t, engine, "/pets", second)
		testkit.Check(t, service.CloseStore())
		_ = service.Close()
		want(2)
	})
}
