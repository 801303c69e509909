package faults

import (
	"slices"
	"strings"
	"testing"
	"time"

	"example.com/petstore/test/harness"
	"example.com/petstore/test/ledger"
)

// TestCommandsRunUnderLoad creates API keys with the command while 64 clients write. The command
// gets the lock of the store within its timeout, and no request is refused because of it. With
// -short the test runs beside other tests: a process that has the lock may not run for seconds, so
// then a command may be repeated once, and requests may get 503.
func TestCommandsRunUnderLoad(t *testing.T) {
	l := ledger.New()
	s := start(t, t.TempDir(), "")
	stop := s.clients(l).Start(t.Context(), 64)
	create := func() (stderr string, code int) {
		_, stderr, code = harness.Run(t, s.folder, "keys", "create", "--name", "faults")
		return stderr, code
	}
	var took []time.Duration
	repeated := 0
	for range pick(10, 50) {
		begun := time.Now()
		stderr, code := create()
		if code != 0 && testing.Short() && strings.Contains(stderr, "locked by another process") {
			repeated++
			stderr, code = create()
		}
		if code != 0 {
			t.Errorf("got code %d, stderr %s", code, stderr)
		}
		took = append(took, time.Since(begun))
	}
	stop()
	s.stop(t, l)
	if l.Unavailable() > 0 && !testing.Short() {
		t.Errorf("got %d responses with 503, want none", l.Unavailable())
	}
	slices.Sort(took)
	t.Logf("%d commands took %v, at most %v, %d of them were repeated; %v", len(took), took[len(took)/2], took[len(took)-1], repeated, l)
}
