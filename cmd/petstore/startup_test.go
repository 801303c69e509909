package main

import (
	"context"
	"net/http"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

// TestStartingServerIsAliveButNotReady locks the store, so that the server cannot open it.
func TestStartingServerIsAliveButNotReady(t *testing.T) {
	t.Parallel()
	dir, address := dirWithStore(t), freeAddress(t)
	ctx, cancel := context.WithTimeout(t.Context(), 10*time.Second)
	defer cancel()
	release := lockStore(t, storePath(dir))
	statuses := make(chan map[string]int, 1)
	go func() {
		defer release()
		starting, received := &serverProcess{url: "http://" + address}, map[string]int{}
		for ctx.Err() == nil && len(received) < 3 {
			for _, path := range []string{"/livez", "/readyz", "/v1/pets"} {
				if status, _, err := starting.do(ctx, http.MethodGet, path, ""); err == nil {
					received[path] = status
				}
			}
		}
		statuses <- received
	}()
	s := startServer(t, dir, "--set", "server.address="+address)
	if diff := cmp.Diff(map[string]int{"/livez": 200, "/readyz": 503, "/v1/pets": 503}, <-statuses); diff != "" {
		t.Errorf("during the start (-want +got):\n%s", diff)
	}
	s.wantStatus(t, "/readyz", http.StatusOK)
}
