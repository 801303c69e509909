package petstore_test

import (
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	"go.uber.org/zap"
	"go.uber.org/zap/zaptest/observer"

	"example.com/petstore"
	rest "example.com/petstore/delivery/http"
	"example.com/petstore/internal/test/testkit"
	"example.com/petstore/repository"
	"example.com/petstore/usecase"
)

// The other store stands for a command in another process.
func TestServiceLogsWhatOthersDoWithKeys(t *testing.T) {
	t.Parallel()
	store := newEngine(t)
	synctest.Test(t, func(t *testing.T) {
		other, err := repository.Open(t.Context(), store, repository.Options{})
		testkit.Check(t, err)
		defer func() { testkit.Check(t, other.Close()) }()
		keys := usecase.NewKeys(other, other.Keys(), usecase.Now)
		_, err = keys.Create(t.Context(), "before", 0, "")
		testkit.Check(t, err)
		core, log := observer.New(zap.InfoLevel)
		newService(t, store, petstore.Options{API: rest.Options{Logger: zap.New(core)}})
		synctest.Wait()
		want := func(want ...string) {
			t.Helper()
			time.Sleep(61 * time.Second)
			synctest.Wait()
			var got []string
			for _, entry := range log.TakeAll() {
				fields := entry.ContextMap()
				got = append(got, fmt.Sprint(entry.Message, " ", fields["key_id"], " ", fields["name"], " ", fields["scopes"]))
			}
			if diff := cmp.Diff(want, got); diff != "" {
				t.Errorf("the log (-want +got)\n%s", diff)
			}
		}
		want()
		_, err = keys.Create(t.Context(), "till 1", 0, "pets:read")
		testkit.Check(t, err)
		want("API key created 2 till 1 [pets:read]")
		testkit.Check(t, keys.Edit(t.Context(), 2, "till 2", ""))
		want("API key edited 2 till 2 [pets:read]")
		_, err = keys.Rotate(t.Context(), 2, time.Hour)
		testkit.Check(t, err)
		want("API key revoked 2 till 2 [pets:read]", "API key created by a rotation 3 till 2 [pets:read]")
		testkit.Check(t, keys.Revoke(t.Context(), 2))
		want("API key revoked 2 till 2 [pets:read]")
		_, err = keys.Create(t.Context(), "mistake", 0, "")
		testkit.Check(t, err)
		testkit.Check(t, keys.Revoke(t.Context(), 4))
		testkit.Check(t, keys.Edit(t.Context(), 3, "till 3", ""))
		testkit.Check(t, keys.Revoke(t.Context(), 3))
		want("API key edited 3 till 3 [pets:read]", "API key revoked 3 till 3 [pets:read]",
			"API key created 4 mistake []", "API key revoked 4 mistake []")
		want()
	})
}
