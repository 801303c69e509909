package contract

import (
	"errors"
	"fmt"
	"net/http"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"

	"example.com/petstore/test/harness"
)

// shutdownLosesNoRequest stops a server while many clients send requests on open
// connections. New connections may be refused, but every request that was sent on an open
// connection must get its response.
func shutdownLosesNoRequest(t *testing.T) {
	const clients = 64
	for _, delay := range []string{"0s", "1s"} {
		t.Run("delay "+delay, func(t *testing.T) {
			t.Parallel()
			store := newTestStore(t)
			s := store.startServer(t, "--set", "server.shutdown_delay="+delay)
			var added atomic.Int64
			var wait sync.WaitGroup
			for i := range clients {
				client := &http.Client{Transport: &http.Transport{}}
				wait.Go(func() { addUntilRefused(s, t, client, fmt.Sprint(i), &added) })
			}
			harness.Eventually(t, "the clients have added pets", func() bool { return added.Load() > 10*clients })
			before := added.Load()
			s.Signal(t, syscall.SIGTERM)
			wait.Wait()
			s.WantExitOK(t)
			if added.Load() < before+clients {
				t.Errorf("got %d pets added after the signal, want at least %d", added.Load()-before, clients)
			}
			var stored int64
			harness.Check(t, store.database.Connect(t).QueryRowContext(t.Context(), "SELECT count(*) FROM pets").Scan(&stored))
			if stored != added.Load() {
				t.Errorf("got %d pets in the store, want %d", stored, added.Load())
			}
			t.Logf("%d pets were added, %d of them after the signal", added.Load(), added.Load()-before)
		})
	}
}

// addUntilRefused adds pets until a new connection is refused. It reuses the connection as
// long as the server leaves it open.
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
