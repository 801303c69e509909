package contract

import (
	"flag"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"example.com/petstore/test/harness"
	"example.com/petstore/test/ledger"
)

var kills = flag.Int("kills", 2, "how often TestServiceContract kills two servers")

// killedServersLoseNoAcknowledgedWrite kills two servers while 64 clients write to both, starts
// two others, and at the end compares the responses with what is stored.
func killedServersLoseNoAcknowledgedWrite(t *testing.T) {
	store, book := newTestStore(t), ledger.New()
	servers := store.startServers(t, "")
	key := servers[0].Key
	var mu sync.RWMutex // for servers
	var requests atomic.Int64
	c := ledger.NewClients(book, "", key)
	c.Uncertain = true
	c.URL = func() string {
		mu.RLock()
		defer mu.RUnlock()
		return servers[requests.Add(1)%2].URL
	}
	stop := c.Start(t.Context(), clients)
	for range *kills {
		start := time.Now()
		harness.EventuallyWithin(t, time.Minute, "writes are acknowledged", func() bool { return len(book.Writes(start)) >= 500 })
		func() {
			mu.Lock() // the next requests wait, because another process may get the address of a killed server
			defer mu.Unlock()
			for _, s := range servers {
				if err := s.Process.Kill(); err != nil {
					t.Fatal(err)
				}
			}
			servers = store.startServers(t, key)
		}()
	}
	stop()
	c.Retry(t.Context())
	for _, s := range servers {
		s.Stop(t)
	}
	store.wantWrites(t, book)
}

// wantWrites expects that the store, which no process uses, agrees with the responses to writes.
func (s testStore) wantWrites(t *testing.T, book *ledger.Ledger) {
	t.Helper()
	if s.database.Driver == "sqlite" { // a PostgreSQL server was not killed
		if _, stderr, code := s.run(t, "backup", "verified.db"); code != 0 {
			t.Error(stderr)
		}
	}
	results, err := book.Check(t.Context(), s.database.Connect(t), ledger.AtTheEnd)
	harness.Check(t, err)
	if err := results[0].Err(); err != nil {
		t.Error(err)
	}
	t.Log(book)
}
