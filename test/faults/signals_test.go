package faults

import (
	"context"
	"fmt"
	"os"
	"os/signal"
	"slices"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"example.com/petstore/test/harness"
)

// TestSignalsInEachPhase sends one or two signals while the server starts, creates and migrates
// its store, serves, and drains. The store is whole, and nothing that was acknowledged is lost.
func TestSignalsInEachPhase(t *testing.T) {
	signals := slices.DeleteFunc([]os.Signal{unix.SIGTERM, unix.SIGINT, unix.SIGHUP, unix.SIGKILL}, signal.Ignored) // as under nohup

	t.Run("start and migration", func(t *testing.T) {
		t.Parallel()
		rounds, random := pick(10, 60), harness.Rand(t)
		for range rounds {
			folder := t.TempDir()
			cmd := petstore(t, folder, nil, "serve")
			harness.Check(t, cmd.Start())
			time.Sleep(time.Duration(random.IntN(120)) * time.Millisecond)
			for range 1 + random.IntN(2) {
				_ = cmd.Process.Signal(signals[random.IntN(len(signals))])
			}
			_ = cmd.Wait()
			start(t, folder, "").Stop(t) // with the remains
			harness.Check(t, checkIntegrity(t.Context(), harness.StorePath(folder)))
		}
		figures.add(t, "%d starts interrupted; each store could be opened", rounds)
	})

	t.Run("load and drain", func(t *testing.T) {
		t.Parallel()
		folder, l, key := t.TempDir(), newLedger(), ""
		rounds, random := pick(4, 20), harness.Rand(t)
		for round := range rounds {
			s := start(t, folder, key, "PETSTORE_SERVER_SHUTDOWN_DELAY=200ms")
			key = s.Key
			c := newClients(l, s, 32)
			c.retry(t)
			ctx, cancel := context.WithCancel(t.Context())
			first, second, again := time.Duration(random.IntN(300))*time.Millisecond, time.Duration(random.IntN(300))*time.Millisecond, signals[random.IntN(len(signals))]
			go func() {
				defer cancel()
				time.Sleep(first)
				_ = s.Process.Signal(unix.SIGTERM)
				if round%2 == 0 { // again, while it drains or after it
					time.Sleep(second)
					_ = s.Process.Signal(again)
				}
				<-s.Ended
			}()
			c.run(ctx, 32, fmt.Sprint(round))
			<-s.Ended
		}
		l.retryAndCompare(t, start(t, folder, key), folder)
		figures.add(t, "%d shutdowns, half of them with a second signal; %v; lost 0, doubled 0", rounds, l)
	})
}
