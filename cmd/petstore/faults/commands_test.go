//go:build faults

package faults

import (
	"context"
	"slices"
	"sync"
	"testing"
	"time"
)

// TestCommandsRunUnderLoad creates API keys with the command while 64 clients write. The command
// gets the lock of the store within its timeout, and no request is refused because of it.
func TestCommandsRunUnderLoad(t *testing.T) {
	folder, l := t.TempDir(), newLedger()
	s := start(t, folder, "")
	c := newClients(l, s, 64)
	c.failed = func(status int, body string) { t.Errorf("got %d %s", status, body) }
	ctx, cancel := context.WithCancel(t.Context())
	var wait sync.WaitGroup
	wait.Go(func() { c.run(ctx, 64, "load") })
	var took []time.Duration
	for range pick(10, 50) {
		begun := time.Now()
		createKey(t, folder)
		took = append(took, time.Since(begun))
	}
	cancel()
	wait.Wait()
	s.stop(t)
	l.wantStore(t, folder)
	slices.Sort(took)
	figures.add(t, "%d commands took %v, at most %v; %v", len(took), round(took[len(took)/2]), round(took[len(took)-1]), l)
}
