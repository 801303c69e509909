//go:build faults

package faults

import (
	"context"
	"fmt"
	"sync"
	"syscall"
	"testing"
	"time"
)

// TestRefusedWriteIsNotThereAfterKill kills the server while the disk fails: a commit that was
// refused because its sync failed has been written to the WAL.
func TestRefusedWriteIsNotThereAfterKill(t *testing.T) {
	folder, l, key := t.TempDir(), newLedger(), ""
	for kill := range pick(3, 20) {
		d := newDisk(t, folder, false)
		s := start(t, folder, key, d.environ...)
		key = s.key
		c := newClients(l, s, 16)
		refused := make(chan struct{})
		var once sync.Once
		c.failed = func(int, string) { once.Do(func() { close(refused) }) }
		ctx, cancel := context.WithCancel(t.Context())
		go func() {
			defer cancel()
			time.Sleep(200 * time.Millisecond)
			d.inject(t, faultsOf{syncError: syscall.EIO})
			select {
			case <-refused:
				time.Sleep(50 * time.Millisecond)
			case <-time.After(10 * time.Second):
				t.Error("no request was refused with 503 while syncs failed")
			}
			s.kill()
		}()
		c.run(ctx, 16, fmt.Sprint(kill))
		<-ctx.Done()
	}
	l.retryAndCompare(t, start(t, folder, key), folder)
	figures.add(t, "%v; lost 0, doubled 0", l)
}
