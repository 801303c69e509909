package main

import (
	"fmt"
	"net/http"
	"strings"
	"sync"
	"testing"
)

func TestTwoServersSellAnAnimalOnce(t *testing.T) {
	t.Parallel()
	const runs, buyers = 20, 64
	dir := t.TempDir()
	servers := []*serverProcess{startServer(t, dir), startServer(t, dir)}
	servers[1].key = servers[0].key

	for run := 1; run <= runs; run++ {
		if status, body, err := servers[0].post(t.Context(), petBody("Rex")); err != nil || status != http.StatusCreated {
			t.Fatal(status, body, err)
		}
		var mu sync.Mutex
		statuses := map[int]int{}
		var wait sync.WaitGroup
		for buyer := range buyers {
			wait.Go(func() {
				status, body, err := servers[buyer%2].do(t.Context(), http.MethodPost, "/v1/store/orders", fmt.Sprintf(`{"petId":%d}`, run))
				if err != nil || status == http.StatusConflict && !strings.Contains(body, `"pet_not_available"`) {
					t.Error(status, body, err)
				}
				mu.Lock()
				statuses[status]++
				mu.Unlock()
			})
		}
		wait.Wait()
		if statuses[http.StatusCreated] != 1 || statuses[http.StatusConflict] != buyers-1 {
			t.Fatalf("got statuses %v, want 201 once and 409 %d times", statuses, buyers-1)
		}
	}
}
