package faults

import (
	"fmt"
	"os"
	"slices"
	"syscall"
	"testing"
	"time"

	"example.com/petstore/test/harness"
)

// TestPowerLossLosesNoAcknowledgedWrite logs all writes and syncs of a server under load, builds
// the states that a power loss at random moments may leave, and opens each as the service does.
// What was synced is there; of what was not, any 512 bytes may be.
func TestPowerLossLosesNoAcknowledgedWrite(t *testing.T) {
	for name, failing := range map[string]bool{"disk": false, "disk with failing syncs": true} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			folder, l := t.TempDir(), newLedger()
			first := start(t, folder, "")
			first.Stop(t) // the database is whole on disk, without a WAL
			base, err := os.ReadFile(harness.StorePath(folder))
			harness.Check(t, err)
			d := newDisk(t, folder, true)
			s := start(t, folder, first.Key, d.environ...)
			c := newClients(l, s, 16)
			c.uncertain.Store(failing)
			done := make(chan struct{})
			go func() {
				defer close(done)
				for i := range 10 { // the clients stop at an unknown outcome
					c.during(t, pick(200*time.Millisecond, 400*time.Millisecond), 16, fmt.Sprint(i))
				}
			}()
			for alive := true; alive; {
				if failing {
					d.inject(t, faultsOf{syncError: syscall.EIO})
					time.Sleep(20 * time.Millisecond)
					d.inject(t, faultsOf{})
				}
				select {
				case <-done:
					alive = false
				case <-time.After(150 * time.Millisecond):
				}
			}
			s.Kill()
			p := powerLoss{ledger: l, folder: t.TempDir(), base: base, operations: d.operations(t)}
			p.check(t, pick(10, 40))
			figures.add(t, "%d states of %d operations of the disk, %d of them with torn pages; %v; lost 0, doubled 0", p.states, len(p.operations), p.torn, l)
		})
	}
}

// A powerLoss builds the states of a store after a power loss.
type powerLoss struct {
	ledger       *ledger
	folder       string
	base         []byte // the database at the start
	operations   []operation
	states, torn int
}

// check checks the states at random moments.
func (p *powerLoss) check(t *testing.T, moments int) {
	t.Helper()
	cuts, random := make([]int, moments), harness.Rand(t)
	for i := range cuts {
		cuts[i] = 1 + random.IntN(len(p.operations))
	}
	slices.Sort(cuts)
	images, applied := newImages(p.base, random), 0
	for _, cut := range cuts {
		for _, o := range p.operations[applied:cut] {
			images.apply(o)
		}
		applied = cut
		at := p.operations[cut-1].at
		tail := images.unsynced()
		p.checkState(t, images, at, func(int) bool { return true })  // as after SIGKILL
		p.checkState(t, images, at, func(int) bool { return false }) // nothing but what was synced
		for n := range min(tail, pick(8, 24)) {
			end := (n + 1) * tail / (min(tail, pick(8, 24)) + 1) // torn at 512 bytes
			p.checkState(t, images, at, func(sector int) bool { return sector < end })
			p.torn++
		}
		for range min(tail, pick(3, 8)) {
			p.checkState(t, images, at, func(int) bool { return random.IntN(2) == 0 })
			p.torn++
		}
	}
}

// checkState opens the state in which those unsynced sectors were written that keep selects.
func (p *powerLoss) checkState(t *testing.T, images *images, at int64, keep func(sector int) bool) {
	t.Helper()
	p.states++
	path := harness.StorePath(p.folder)
	harness.Check(t, images.write(path, keep))
	stored, err := readStore(t.Context(), path)
	if err != nil {
		t.Errorf("the state %d: %v", p.states, err)
		return
	}
	report(t, p.ledger.compare(stored, at))
}
