package contract

import (
	"fmt"
	"net/http"
	"strings"
	"sync"
	"testing"

	"example.com/petstore/test/harness"
)

const clients = 64

// countResponses sends the same request from 64 clients, to the servers in turn, and counts
// the responses by status and body.
func countResponses(t *testing.T, servers []*harness.Server, path, body string, headers ...string) map[string]int {
	t.Helper()
	var mu sync.Mutex
	var wait sync.WaitGroup
	responses := map[string]int{}
	for client := range clients {
		wait.Go(func() {
			status, response, err := servers[client%len(servers)].Do(t.Context(), http.MethodPost, path, body, headers...)
			if err != nil {
				t.Error(err)
			}
			mu.Lock()
			defer mu.Unlock()
			responses[fmt.Sprint(status, " ", response)]++
		})
	}
	wait.Wait()
	return responses
}

func twoServersSellAnAnimalOnce(t *testing.T) {
	servers := newTestStore(t).startServers(t, "")
	for run := 1; run <= 10; run++ {
		if status, body, err := servers[0].Post(t.Context(), harness.PetBody("Rex")); err != nil || status != http.StatusCreated {
			t.Fatal(status, body, err)
		}
		sold, conflicts := 0, 0
		got := countResponses(t, servers, "/v1/store/orders", fmt.Sprintf(`{"petId":%d}`, run))
		for response, n := range got {
			switch {
			case strings.HasPrefix(response, "201 "):
				sold += n
			case strings.HasPrefix(response, "409 ") && strings.Contains(response, `"pet_not_available"`):
				conflicts += n
			}
		}
		if sold != 1 || conflicts != clients-1 {
			t.Fatalf("got the responses %v, want 201 once and 409 %d times", got, clients-1)
		}
	}
}

func retriesThroughTwoServersCreateOnce(t *testing.T) {
	servers := newTestStore(t).startServers(t, "")
	got := countResponses(t, servers, "/v1/pets", harness.PetBody("Rex"), "Idempotency-Key", "one")
	if want := `201 {"id":1,"name":"Rex","categoryId":1}`; got[want] != clients {
		t.Errorf("got the responses %v, want %d of %s", got, clients, want)
	}
	if n := len(records(servers[1], t, "/v1/pets")); n != 1 {
		t.Errorf("got %d pets, want one", n)
	}
}

// pagesAreCompleteDuringWrites follows the pages of two servers in turn.
func pagesAreCompleteDuringWrites(t *testing.T) {
	const writers, petsEach = 16, 25
	servers := newTestStore(t).startServers(t, "")
	var wait sync.WaitGroup
	defer wait.Wait()
	for writer := range writers {
		wait.Go(func() {
			for range petsEach {
				if status, body, err := servers[writer%2].Post(t.Context(), harness.PetBody("Rex")); err != nil || status != http.StatusCreated {
					t.Error(status, body, err)
				}
			}
		})
	}
	seen, last, pages := map[int64]bool{}, int64(0), 0
	harness.Eventually(t, "all pets are listed", func() bool {
		var page []record
		path := fmt.Sprintf("/v1/pets?limit=7&after=%d", last)
		next := nextPage(t, servers[pages%2], path, &page)
		for _, pet := range page {
			if seen[pet.ID] {
				t.Errorf("%s: got the pet %d again", path, pet.ID)
			}
			seen[pet.ID], last = true, pet.ID
		}
		if want := fmt.Sprintf("/v1/pets?limit=7&after=%d", last); next != "" && next != want {
			t.Errorf("%s: got the next page %s, want %s", path, next, want)
		}
		pages++
		return len(seen) == writers*petsEach
	})
}

func startingServersCreateOneFirstKey(t *testing.T) {
	store := newTestStore(t)
	var outputs [4]harness.Buffer
	for i := range outputs {
		cmd := harness.Command(t.Context(), store.dir, append([]string{"serve", "--first-key"}, store.flags...)...)
		cmd.Stdout, cmd.Stderr = &outputs[i], &outputs[i]
		harness.Launch(t, cmd, "")
	}
	keys := 0
	for i := range outputs {
		harness.Eventually(t, "the server has started", func() bool { return harness.PagePattern.MatchString(outputs[i].String()) })
		keys += len(harness.KeyPattern.FindAllString(outputs[i].String(), -1))
	}
	if keys != 1 {
		t.Errorf("got %d keys, want one", keys)
	}
}

func createdKeysWorkOnARunningServer(t *testing.T) {
	store := newTestStore(t)
	if _, stderr, code := store.run(t, "migrate", "up"); code != 0 {
		t.Fatal(stderr)
	}
	before, stderr, code := store.run(t, "keys", "create", "--name", "till 1")
	if code != 0 || harness.KeyPattern.FindString(before)+"\n" != before || stderr != "" {
		t.Fatalf("got code %d, stdout %q, stderr %q; want 0 and only the key", code, before, stderr)
	}
	s := store.startServer(t)
	if s.Key != "" {
		t.Error("a first key was created although the store has a key")
	}
	during, _, _ := store.run(t, "keys", "create", "--name", "till 2")
	for _, key := range []string{before, during} {
		s.Key = strings.TrimSpace(key)
		s.WantStatus(t, "/v1/pets", http.StatusOK)
	}
}
