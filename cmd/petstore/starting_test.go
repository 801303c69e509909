package main

import (
	"context"
	"database/sql"
	"net"
	"net/http"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

// A store that another process holds takes its time to open, as one with much to migrate would.
func TestStartingServerAnswers(t *testing.T) {
	t.Parallel()
	folder, address := folderWithStore(t), freeAddress(t)
	ctx, cancel := context.WithTimeout(t.Context(), 10*time.Second)
	defer cancel()
	release := lock(t, database(folder))
	answers := make(chan map[string]int, 1)
	go func() {
		defer release()
		starting, seen := &process{url: "http://" + address}, map[string]int{}
		for ctx.Err() == nil && len(seen) < 3 {
			for _, path := range []string{"/livez", "/readyz", "/v1/pets"} {
				if status, _, err := starting.do(ctx, http.MethodGet, path, ""); err == nil {
					seen[path] = status
				}
			}
		}
		answers <- seen
	}()
	s := start(t, folder, "--set", "server.address="+address)
	if diff := cmp.Diff(map[string]int{"/livez": 200, "/readyz": 503, "/v1/pets": 503}, <-answers); diff != "" {
		t.Errorf("while it started (-want +got):\n%s", diff)
	}
	if status, answer, err := s.do(t.Context(), http.MethodGet, "/readyz", ""); err != nil || status != http.StatusOK {
		t.Errorf("/readyz: %d %s %v", status, answer, err)
	}
}

// lock is a process that writes to a store until release.
func lock(t *testing.T, file string) (release func()) {
	t.Helper()
	db, err := sql.Open("sqlite3", "file:"+file+"?_txlock=immediate")
	if err != nil {
		t.Fatal(err)
	}
	tx, err := db.BeginTx(t.Context(), nil)
	if err != nil {
		t.Fatal(err)
	}
	return func() { _ = tx.Rollback(); _ = db.Close() }
}

// freeAddress is one that nobody listens on.
func freeAddress(t *testing.T) string {
	t.Helper()
	listener, err := (&net.ListenConfig{}).Listen(t.Context(), "tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer listener.Close()
	return listener.Addr().String()
}
