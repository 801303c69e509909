package faults

import (
	"context"
	"fmt"
	"slices"
	"testing"
	"time"

	"example.com/petstore/test/harness"
)

// TestKillLosesNoAcknowledgedWrite kills the server with SIGKILL at random moments while 64
// clients write.
func TestKillLosesNoAcknowledgedWrite(t *testing.T) {
	folder, l, key := t.TempDir(), newLedger(), ""
	kills, random := pick(5, 50), harness.Rand(t)
	var ready []time.Duration
	for kill := range kills {
		s := start(t, folder, key)
		key = s.Key
		ready = append(ready, s.ready)
		c := newClients(l, s, 64)
		c.retry(t)
		ctx, cancel := context.WithCancel(t.Context())
		time.AfterFunc(time.Duration(random.IntN(600))*time.Millisecond, func() { s.Kill(); cancel() })
		c.run(ctx, 64, fmt.Sprint(kill))
		<-s.Ended
	}
	l.retryAndCompare(t, start(t, folder, key), folder)
	if slowest, limit := slices.Max(ready[1:]), pick(10*time.Second, 2*time.Second); slowest > limit {
		t.Errorf("a server was ready after %v, want at most %v", slowest, limit)
	}
	slices.Sort(ready)
	figures.add(t, "%d kills; %v; lost 0, doubled 0; ready after %v, at most %v", kills, l, round(ready[len(ready)/2]), round(ready[len(ready)-1]))
}

func round(d time.Duration) time.Duration { return d.Round(time.Millisecond) }
