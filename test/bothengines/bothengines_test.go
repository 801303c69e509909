// Package bothengines tests what the service promises on each engine.
package bothengines

import (
	"errors"
	"fmt"
	"net/http"
	"os"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"

	"example.com/petstore/internal/test/testkit"
	"example.com/petstore/repository/enginetest"
	"example.com/petstore/test/harness"
)

func TestMain(m *testing.M) { os.Exit(enginetest.WithDatabases(m).Run()) }

// newStore returns a new store and the flags for it.
func newStore(t *testing.T) (database enginetest.Database, flags []string) {
	t.Helper()
	database = enginetest.New(t)
	return database, []string{"--set", "database.driver=" + database.Driver, "--set", "database.dsn=" + database.DSN}
}

// startOn starts one server on a file, or three on a database. All accept the key of the first one.
func startOn(t *testing.T, database enginetest.Database, dir string, flags []string) (servers []*harness.Server) {
	t.Helper()
	for range map[string]int{enginetest.SQLite: 1, enginetest.Postgres: 3}[database.Driver] {
		servers = append(servers, harness.Start(t, dir, flags...))
		servers[len(servers)-1].Key = servers[0].Key
	}
	return servers
}

// Each server is killed when it serves. On SQLite, the others wait for that.
func TestStartingServersCreateOneFirstKey(t *testing.T) {
	t.Parallel()
	database, flags := newStore(t)
	dir := t.TempDir()
	var outputs [4]harness.Buffer
	servers := map[int]*harness.Server{}
	for i := range outputs {
		cmd := harness.Command(t.Context(), dir, append([]string{"serve", "--first-key"}, flags...)...)
		cmd.Stdout, cmd.Stderr = &outputs[i], &outputs[i]
		servers[i] = harness.Launch(t, cmd, "")
	}
	keys := 0
	for len(servers) > 0 {
		var serving []int
		testkit.WaitUntil(t, "a server serves", func() bool {
			for i := range servers {
				if harness.PagePattern.MatchString(outputs[i].String()) {
					serving = append(serving, i)
				}
			}
			return len(serving) > 0
		})
		if database.Driver == enginetest.SQLite && len(serving) > 1 {
			t.Errorf("got %d servers that serve the file, want one", len(serving))
		}
		for _, i := range serving {
			keys += len(harness.KeyPattern.FindAllString(outputs[i].String(), -1))
			servers[i].Kill()
			delete(servers, i)
		}
	}
	if keys != 1 {
		t.Errorf("got %d keys, want one", keys)
	}
}

// A client repeats a request at another process, with the keys that have replaced its key.
func TestRetryWithRotatedKeyAddsNoSecondAnimal(t *testing.T) {
	t.Parallel()
	database, flags := newStore(t)
	dir := t.TempDir()
	servers := startOn(t, database, dir, flags)
	keys := []string{servers[0].Key}
	for _, id := range []string{"1", "2"} {
		keys = append(keys, harness.PrintedKey(t, dir, append([]string{"rotate", id}, flags...)...))
	}
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
