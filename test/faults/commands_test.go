package faults

import (
	"context"
	"net/http"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"
)

// TestCommandsRunUnderLoad creates API keys with the command while 64 clients write. The command
// gets the lock of the store within its timeout, and no request is refused because of it. With
// -short the test runs beside other tests: a process that has the lock may not run for seconds, so
// then a command may be repeated once, and requests may get 503.
func TestCommandsRunUnderLoad(t *testing.T) {
	folder, l := t.TempDir(), newLedger()
	s := start(t, folder, "")
	c := newClients(l, s, 64)
	var unavailable atomic.Int64
	c.failed = func(status int, body string) {
		if unavailable.Add(1); status != http.StatusServiceUnavailable || !testing.Short() {
			t.Errorf("got %d %s", status, body)
		}
	}
	ctx, cancel := context.WithCancel(t.Context())
	var wait sync.WaitGroup
	wait.Go(func() { c.run(ctx, 64, "load") })
	var took []time.Duration
	repeated := 0
	for range pick(10, 50) {
		begun := time.Now()
		output, err := petstore(t, folder, nil, createKeyArgs...).CombinedOutput()
		if err != nil && testing.Short() && strings.Contains(string(output), "locked by another process") {
			repeated++
			output, err = petstore(t, folder, nil, createKeyArgs...).CombinedOutput()
		}
		if err != nil {
			t.Errorf("%v: %v %s", createKeyArgs, err, output)
		}
		took = append(took, time.Since(begun))
	}
	cancel()
	wait.Wait()
	s.Stop(t)
	l.wantStore(t, folder)
	slices.Sort(took)
	figures.add(t, "%d commands took %v, at most %v, %d of them were repeated; %v, %d of them with 503",
		len(took), round(took[len(took)/2]), round(took[len(took)-1]), repeated, l, unavailable.Load())
}
