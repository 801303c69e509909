package main

import (
	"context"
	"encoding/json"
	"flag"
	"fmt"
	"net/http"
	"sync"
	"testing"
)

var kills = flag.Int("kills", 2, "how often TestServiceContract kills two servers")

// killedServersLoseNoAcknowledgedWrite kills two servers while 64 clients add pets and orders,
// and compares the responses with what is stored.
func killedServersLoseNoAcknowledgedWrite(t *testing.T) {
	store, l, key := newTestStore(t), &ledger{}, ""
	for kill := range *kills {
		servers := store.startServers(t, key)
		key = servers[0].key
		l.killDuringWrites(t, servers, kill)
	}
	s := store.startServer(t)
	s.key = key
	l.retry(t, s)
	l.check(t, s)
}

// A write is a request that adds a pet or an order, with its response.
type write struct {
	path, body string
	key        string // the Idempotency-Key, or ""
	name       string // of the pet, or "" for an order
	status     int    // of the response, 0 if none was received
	added      record // if the status is 201
}

// A record is a pet or an order.
type record struct {
	ID, PetID, CategoryID int64
	Name, Status          string
}

// newWrite returns the next write of a client. One in four is invalid.
func newWrite(i int, name string, pet int64) write {
	switch i % 4 {
	case 0:
		return write{path: "/v1/pets", body: petBody(name), name: name}
	case 1:
		return write{path: "/v1/pets", body: petBody(name), name: name, key: name}
	case 2:
		return write{path: "/v1/store/orders", body: fmt.Sprintf(`{"petId":%d}`, pet), key: name}
	}
	return write{path: "/v1/pets", body: fmt.Sprintf(`{"name":%q}`, name), name: name}
}

// isUnknown reports whether the write may have been stored or not.
func (w *write) isUnknown() bool { return w.status == 0 || w.status >= http.StatusInternalServerError }

// send sends the write, and sets its response.
func (w *write) send(ctx context.Context, s *serverProcess) error {
	var headers []string
	if w.key != "" {
		headers = []string{"Idempotency-Key", w.key}
	}
	status, body, err := s.do(ctx, http.MethodPost, w.path, w.body, headers...)
	if err != nil {
		return err
	}
	if w.status = status; status != http.StatusCreated {
		return nil
	}
	return json.Unmarshal([]byte(body), &w.added)
}

// A ledger is all writes that clients have sent.
type ledger struct {
	mu      sync.Mutex
	writes  []write
	added   int   // the number of acknowledged writes
	lastPet int64 // the id of the last acknowledged pet
}

// add adds a write and returns the number of acknowledged ones.
func (l *ledger) add(w write) int {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.writes = append(l.writes, w)
	if w.status == http.StatusCreated {
		l.added++
		if w.name != "" {
			l.lastPet = w.added.ID
		}
	}
	return l.added
}

func (l *ledger) pet() int64 {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.lastPet
}

// killDuringWrites kills the servers after 500 acknowledged writes.
func (l *ledger) killDuringWrites(t *testing.T, servers []*serverProcess, kill int) {
	t.Helper()
	wanted, enough := l.added+500, make(chan struct{})
	var once sync.Once
	var wait sync.WaitGroup
	for client := range clients {
		s := servers[client%len(servers)]
		wait.Go(func() {
			for i, err := 0, error(nil); err == nil; i++ {
				w := newWrite(i, fmt.Sprintf("%d-%d-%d", kill, client, i), l.pet())
				err = w.send(t.Context(), s) // until the server is killed
				if l.add(w) >= wanted {
					once.Do(func() { close(enough) })
				}
			}
		})
	}
	ended := make(chan struct{})
	go func() { wait.Wait(); close(ended) }()
	select {
	case <-enough:
	case <-ended:
		t.Fatalf("all requests failed before the servers were killed: %s", servers[0].log)
	}
	for _, s := range servers {
		if err := s.Process.Kill(); err != nil {
			t.Fatal(err)
		}
	}
	<-ended
}

// retry sends the unknown writes that have an Idempotency-Key again.
func (l *ledger) retry(t *testing.T, s *serverProcess) {
	t.Helper()
	for i := range l.writes {
		if w := &l.writes[i]; w.isUnknown() && w.key != "" {
			if err := w.send(t.Context(), s); err != nil || w.isUnknown() {
				t.Errorf("retry of %+v: %v", w, err)
			}
		}
	}
}

// check compares the writes with the records of the store.
func (l *ledger) check(t *testing.T, s *serverProcess) {
	t.Helper()
	pets, orders := map[string][]record{}, map[int64]record{} // by name, by id
	for _, pet := range s.records(t, "/v1/pets?limit=100") {
		pets[pet.Name] = append(pets[pet.Name], pet)
	}
	sold := map[int64]bool{}
	for _, order := range s.records(t, "/v1/store/orders?limit=100") {
		if sold[order.PetID] {
			t.Errorf("the pet %d is sold twice", order.PetID)
		}
		orders[order.ID], sold[order.PetID] = order, true
	}
	unknown, ordered := 0, 0
	for _, w := range l.writes {
		stored := pets[w.name]
		switch {
		case w.status == http.StatusCreated && w.name == "":
			if ordered++; orders[w.added.ID] != w.added {
				t.Errorf("got the order %+v, want %+v", orders[w.added.ID], w.added)
			}
		case w.status == http.StatusCreated:
			if len(stored) != 1 || stored[0].ID != w.added.ID || stored[0].CategoryID != 1 {
				t.Errorf("got %+v, want %+v once", stored, w.added)
			}
		case w.isUnknown():
			if unknown++; len(stored) > 1 {
				t.Errorf("got %+v after %+v, want it once at most", stored, w)
			}
		case w.body == petBody(w.name):
			t.Errorf("got the status %d for %+v, want 201", w.status, w)
		case len(stored) > 0:
			t.Errorf("got %+v, want none after the status %d", stored, w.status)
		}
	}
	if len(orders) != ordered {
		t.Errorf("got %d orders, want the %d that were acknowledged", len(orders), ordered)
	}
	for _, stored := range pets {
		if pet := stored[0]; (pet.Status == "pending") != sold[pet.ID] {
			t.Errorf("got the pet %+v, want it pending only with an order: %t", pet, sold[pet.ID])
		}
	}
	t.Logf("%d writes, %d acknowledged, %d orders, %d unknown without a key", len(l.writes), l.added, ordered, unknown)
}

// records reads all pages.
func (s *serverProcess) records(t *testing.T, path string) (all []record) {
	t.Helper()
	for path != "" {
		var page []record
		path = nextPage(t, s, path, &page)
		all = append(all, page...)
	}
	return all
}
