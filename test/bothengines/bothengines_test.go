// Package bothengines tests what the service promises on each engine.
package bothengines

import (
	"errors"
	"fmt"
	"net/http"
	"os"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"example.com/petstore/internal/test/enginetest"
	"example.com/petstore/internal/test/testkit"
	"example.com/petstore/test/harness"
)

func TestMain(m *testing.M) { os.Exit(enginetest.WithDatabases(m).Run()) }

// processes are the numbers of processes of a service. A SQLite file is served by one.
var processes = map[string]int{enginetest.SQLite: 1, enginetest.Postgres: 3}

// newStore returns a new store and the flags for it.
func newStore(t *testing.T) (database enginetest.Database, flags []string) {
	t.Helper()
	database = enginetest.New(t)
	return database, []string{"--set", "database.driver=" + database.Driver, "--set", "database.dsn=" + database.DSN}
}

func TestStartingServersCreateOneFirstKey(t *testing.T) {
	t.Parallel()
	database, flags := newStore(t)
	dir := t.TempDir()
	outputs := make([]harness.Buffer, processes[database.Driver])
	for i := range outputs {
		cmd := harness.Command(t.Context(), dir, append([]string{"serve", "--first-key"}, flags...)...)
		cmd.Stdout, cmd.Stderr = &outputs[i], &outputs[i]
		harness.Launch(t, cmd, "")
	}
	keys := 0
	for i := range outputs {
		testkit.WaitUntil(t, "the server has started", func() bool { return harness.PagePattern.MatchString(outputs[i].String()) })
		keys += len(harness.KeyPattern.FindAllString(outputs[i].String(), -1))
	}
	if keys != 1 {
		t.Errorf("got %d keys, want one", keys)
	}
}

// startProcesses starts the processes of a service on a new store. All processes accept the key of the first one. run runs
// petstore keys on the store, and returns the key that it prints.
func startProcesses(t *testing.T) (database enginetest.Database, servers []*harness.Server, run func(args ...string) string) {
	t.Helper()
	database, flags := newStore(t)
	dir := t.TempDir()
	for range processes[database.Driver] {
		servers = append(servers, harness.Start(t, dir, flags...))
		servers[len(servers)-1].Key = servers[0].Key
	}
	return database, servers, func(args ...string) string { return harness.PrintedKey(t, dir, append(args, flags...)...) }
}

// A client repeats a request at each process, with the keys that have replaced its key.
func TestRetryWithRotatedKeyAddsNoSecondAnimal(t *testing.T) {
	t.Parallel()
	database, servers, run := startProcesses(t)
	keys := []string{servers[0].Key, run("rotate", "1"), run("rotate", "2")}
	for _, key := range keys {
		for _, s := range servers {
			status, body, err := s.Post(t.Context(), harness.PetBody("Rex"), "Authorization", "Bearer "+key, "Idempotency-Key", "one")
			if want := `{"id":1,`; err != nil || status != http.StatusCreated || !strings.HasPrefix(body, want) {
				t.Errorf("got %d %s %v, want the response %s…} again", status, body, err, want)
			}
		}
	}
	var pets int
	testkit.Check(t, database.Connect(t).QueryRowContext(t.Context(), "SELECT count(*) FROM pets").Scan(&pets))
	if pets != 1 {
		t.Errorf("got %d animals, want one", pets)
	}
}

func TestRevokedKeyIsRejectedByEachProcess(t *testing.T) {
	t.Parallel()
	_, servers, run := startProcesses(t)
	for id := 2; id < 10; id += 2 { // a rotation has the next id
		key := run("create", "--name", "till-1")
		for _, s := range servers {
			s.WantStatus(t, "/v1/pets", http.StatusOK, "Authorization", "Bearer "+key) // from now on the process has it in memory
		}
		run("rotate", fmt.Sprint(id), "--overlap", "0s")
		revoked := time.Now()
		var wait sync.WaitGroup
		for _, s := range servers {
			wait.Go(func() { s.WantRejected(t, key, revoked) })
		}
		wait.Wait()
	}
}

// A single record from memory is as it was when it was read, but later additions have changed the position.
func TestResponsesFromMemoryHaveTheLatestPosition(t *testing.T) {
	t.Parallel()
	_, servers, _ := startProcesses(t)
	latest := int64(0)
	for range 3 {
		servers[0].AddPet(t, "Rex")
		for _, s := range servers {
			for _, path := range []string{"/v1/pets?limit=1", "/v1/pets/1", "/v1/pets/1", "/v1/pets?limit=1", "/v1/store/inventory"} {
				request, err := s.Request(t.Context(), http.MethodGet, path, "")
				testkit.Check(t, err)
				response, err := harness.Client.Do(request)
				testkit.Check(t, err)
				testkit.Check(t, response.Body.Close())
				position, err := strconv.ParseInt(response.Header.Get("Changes-Position"), 10, 64)
				testkit.Check(t, err)
				if latest != 0 && position != latest {
					t.Errorf("%s: got the position %d, want %d", path, position, latest)
				}
				latest = position
			}
		}
		latest++ // the next animal is one change
	}
}

// TestShutdownLosesNoRequest stops a server while many clients send requests on open connections. The
// server may refuse new connections, but must respond to every request on an open connection.
func TestShutdownLosesNoRequest(t *testing.T) {
	t.Parallel()
	const clients = 64
	for _, delay := range []string{"0s", "1s"} {
		t.Run("delay "+delay, func(t *testing.T) {
			t.Parallel()
			database, flags := newStore(t)
			s := harness.Start(t, t.TempDir(), append(flags, "--set", "server.shutdown_delay="+delay)...)
			var added atomic.Int64
			var wait sync.WaitGroup
			for i := range clients {
				client := &http.Client{Transport: &http.Transport{}}
				wait.Go(func() { addUntilRefused(s, t, client, fmt.Sprint(i), &added) })
			}
			testkit.WaitUntil(t, "the clients have added pets", func() bool { return added.Load() > 10*clients })
			before := added.Load()
			s.Signal(t, syscall.SIGTERM)
			wait.Wait()
			s.WantExitOK(t)
			if added.Load() < before+clients {
				t.Errorf("got %d pets added after the signal, want at least %d", added.Load()-before, clients)
			}
			var stored int64
			testkit.Check(t, database.Connect(t).QueryRowContext(t.Context(), "SELECT count(*) FROM pets").Scan(&stored))
			if stored != added.Load() {
				t.Errorf("got %d pets in the store, want %d", stored, added.Load())
			}
			t.Logf("%d pets were added, %d of them after the signal", added.Load(), added.Load()-before)
		})
	}
}

// addUntilRefused adds pets until a new connection is refused. It uses a connection until the server closes
// it.
func addUntilRefused(s *harness.Server, t *testing.T, client *http.Client, name string, added *atomic.Int64) {
	for {
		request, err := s.Request(t.Context(), http.MethodPost, "/v1/pets", harness.PetBody(name))
		if err != nil {
			t.Error(err)
			return
		}
		status, body, err := harness.Send(client, request)
		if errors.Is(err, syscall.ECONNREFUSED) {
			return
		}
		if err != nil || status != http.StatusCreated {
			t.Errorf("got %d, %v, %s, want 201", status, err, body)
			return
		}
		added.Add(1)
	}
}
