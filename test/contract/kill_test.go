package contract

import (
	"context"
	"flag"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"example.com/petstore/repository/sqlite/backup"
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
	writers := &ledger.Writers{Key: key, Ledger: book, URL: func() string {
		mu.RLock()
		defer mu.RUnlock()
		return servers[requests.Add(1)%2].URL
	}}
	ctx, cancel := context.WithTimeout(t.Context(), time.Duration(*kills+1)*time.Minute)
	defer cancel()
	writers.Start(ctx, clients)
	for range *kills {
		for start := time.Now(); book.AcknowledgedSince(start) < 500 && ctx.Err() == nil; {
			<-time.After(20 * time.Millisecond)
		}
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
	writers.Stop()
	if ctx.Err() != nil {
		t.Fatalf("the clients are not served: %s", servers[0].Log)
	}
	for _, s := range servers {
		s.Stop(t)
	}
	store.wantWrites(t, book)
}

// wantWrites expects that the store, which no process uses, agrees with the responses to writes.
func (s testStore) wantWrites(t *testing.T, book *ledger.Ledger) {
	t.Helper()
	if s.database.Driver == "sqlite" { // a PostgreSQL server was not killed
		if _, err := backup.Verify(t.Context(), s.database.DSN); err != nil {
			t.Error(err)
		}
	}
	results, err := book.Check(t.Context(), s.database.Connect(t))
	if err != nil {
		t.Fatal(err)
	}
	for _, r := range results {
		if err := r.Err(); err != nil {
			t.Error(err)
		}
		t.Logf("%d writes acknowledged, %d refused, %d attempts without a known outcome", r.Acknowledged, r.Refused, r.Unknown)
	}
	for _, violation := range book.Violations() {
		t.Error(violation)
	}
}
