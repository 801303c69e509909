package contract

import (
	"os"
	"testing"

	"example.com/petstore/repository/enginetest"
	"example.com/petstore/test/harness"
)

func TestMain(m *testing.M) { os.Exit(enginetest.WithDatabases(m).Run()) }

// TestServiceContract tests what the service promises on each engine.
func TestServiceContract(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]func(*testing.T){
		"a shutdown loses no request":                     shutdownLosesNoRequest,
		"servers that start at once create one first key": startingServersCreateOneFirstKey,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			test(t)
		})
	}
}

// A testStore is a new store and the working directory of the processes that use it.
type testStore struct {
	dir      string
	database enginetest.Database
	flags    []string // that name the store
}

func newTestStore(t *testing.T) testStore {
	t.Helper()
	database := enginetest.New(t)
	return testStore{t.TempDir(), database, []string{"--set", "database.driver=" + database.Driver, "--set", "database.dsn=" + database.DSN}}
}

// startServer starts a server on the store.
func (s testStore) startServer(t *testing.T, args ...string) *harness.Server {
	t.Helper()
	return harness.Start(t, s.dir, append(args, s.flags...)...)
}
