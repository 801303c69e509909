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
	folder := t.TempDir()
	servers := []*process{start(t, folder), start(t, folder)}
	servers[1].key = servers[0].key

	for run := 1; run <= runs; run++ {
		if status, answer, err := servers[0].post(t.Context(), petBody("Rex")); err != nil || status != http.StatusCreated {
			t.Fatal(status, answer, err)
		}
		var mu sync.Mutex
		answers := map[int]int{}
		var wait sync.WaitGroup
		for buyer := range buyers {
			wait.Go(func() {
				status, answer, err := servers[buyer%2].do(t.Context(), http.MethodPost, "/v1/store/orders", fmt.Sprintf(`{"petId":%d}`, run))
				if err != nil || status == http.StatusConflict && !strings.Contains(answer, `"pet_not_available"`) {
					t.Error(status, answer, err)
				}
				mu.Lock()
				answers[status]++
				mu.Unlock()
			})
		}
		wait.Wait()
		if answers[http.StatusCreated] != 1 || answers[http.StatusConflict] != buyers-1 {
			t.Fatalf("statuses %v, want 201 once and 409 %d times", answers, buyers-1)
		}
	}
}
