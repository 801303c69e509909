package main

import (
	"cmp"
	"testing"

	"example.com/petstore/repository/enginetest"
)

// TestServiceContract tests what the service promises on each engine: on SQLite, or on
// PostgreSQL if built with the tag postgres.
func TestServiceContract(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]func(*testing.T){
		"killed servers lose no acknowledged write":       killedServersLoseNoAcknowledgedWrite,
		"a shutdown loses no request":                     shutdownLosesNoRequest,
		"two servers sell an animal once":                 twoServersSellAnAnimalOnce,
		"retries through two servers create once":         retriesThroughTwoServersCreateOnce,
		"pages of two servers are complete during writes": pagesAreCompleteDuringWrites,
		"servers that start at once create one first key": startingServersCreateOneFirstKey,
		"created keys work on a running server":           createdKeysWorkOnARunningServer,
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

// startServer is startServer on the store.
func (s testStore) startServer(t *testing.T, args ...string) *serverProcess {
	t.Helper()
	return startServer(t, s.dir, append(args, s.flags...)...)
}

// startServers starts two servers that know the key of the first one, or key if it is not empty.
func (s testStore) startServers(t *testing.T, key string) []*serverProcess {
	t.Helper()
	servers := []*serverProcess{s.startServer(t), s.startServer(t)}
	for _, server := range servers {
		server.key = cmp.Or(key, servers[0].key)
	}
	return servers
}

// run is runPetstore on the store.
func (s testStore) run(t *testing.T, args ...string) (stdout, stderr string, code int) {
	t.Helper()
	return runPetstore(t, s.dir, append(args, s.flags...)...)
}
