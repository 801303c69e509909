package bothengines

import (
	"fmt"
	"math/rand/v2"
	"net/http"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"example.com/petstore/internal/test/testkit"
	"example.com/petstore/test/harness"
)

// racing is a client that keeps the connections of all racing clients open.
var racing = &http.Client{Transport: &http.Transport{MaxIdleConnsPerHost: 128}}

// startProcesses starts one process on a file, or three on a database, with animals of these names. All
// processes accept the key of the first one.
func startProcesses(t *testing.T, names ...string) (servers []*harness.Server) {
	t.Helper()
	database, flags := newStore(t)
	t.Cleanup(racing.CloseIdleConnections)
	servers = startOn(t, database, t.TempDir(), flags)
	for _, name := range names {
		servers[0].AddPet(t, name)
	}
	return servers
}

func TestAnimalIsSoldOrRemoved(t *testing.T) {
	t.Parallel()
	const animals, buyers, removers = 30, 64, 16
	servers := startProcesses(t, strings.Fields(strings.Repeat("Rex ", animals))...)
	var sold, removed [animals + 1]atomic.Int32
	var clients sync.WaitGroup
	begin := make(chan struct{})
	try := func(client int, order []int, method, path, body string, done *[animals + 1]atomic.Int32, want int, refused string) {
		<-begin
		for _, i := range order {
			id := i + 1
			of := strings.NewReplacer("ID", fmt.Sprint(id))
			request, err := servers[(client+id)%len(servers)].Request(t.Context(), method, of.Replace(path), of.Replace(body))
			if err != nil {
				t.Error(err)
				return
			}
			status, response, err := harness.Send(racing, request)
			switch {
			case err == nil && status == want:
				done[id].Add(1)
			case err != nil || !strings.Contains(response, refused) && !strings.Contains(response, `"pet_not_found"`):
				t.Errorf("%s of %d: got %d %s %v", method, id, status, response, err)
			}
		}
	}
	for client := range buyers {
		clients.Go(func() {
			order := rand.Perm(animals)
			// Buyers begin with the second half, so that removers get some animals of the first half.
			slices.SortStableFunc(order, func(i, j int) int { return j/(animals/2) - i/(animals/2) })
			try(client, order, http.MethodPost, "/v1/store/orders", `{"petId":ID}`, &sold, http.StatusCreated, `"pet_not_available"`)
		})
	}
	for client := range removers {
		clients.Go(func() {
			try(client, rand.Perm(animals), http.MethodDelete, "/v1/pets/ID", "", &removed, http.StatusNoContent, `"pet_ordered"`)
		})
	}
	close(begin)
	clients.Wait()
	var all, both, twice, neither int
	for id := 1; id <= animals; id++ {
		s, r := sold[id].Load(), removed[id].Load()
		all += int(s)
		if s > 0 && r > 0 {
			both++
		}
		if s > 1 || r > 1 {
			twice++
		}
		if s+r == 0 {
			neither++
		}
	}
	t.Logf("%d sold, %d removed; sold and removed %d, sold or removed twice %d, neither %d", all, animals-all, both, twice, neither)
	if all == 0 || all == animals || both+twice+neither > 0 {
		t.Error("want some sold, some removed, and none of the last three")
	}
	status, body, err := servers[0].Do(t.Context(), http.MethodGet, "/v1/pets?limit=100", "")
	if n := strings.Count(body, `"status":"pending"`); err != nil || status != http.StatusOK || n != all || strings.Count(body, `"id"`) != all {
		t.Errorf("got the pets %s, want the %d that were sold", body, all)
	}
}

// TestNoCorrectionIsLost lets clients count the corrections of one animal in its name. Each client reads
// the animal and replaces the name with the next number, if the animal is still as it was read.
func TestNoCorrectionIsLost(t *testing.T) {
	t.Parallel()
	const correctors = 32
	corrections := int64(10_000)
	if testing.Short() {
		corrections = 300
	}
	servers := startProcesses(t, "0 by nobody")
	var done, refused atomic.Int64
	var counted sync.Map // the number that each successful correction has written
	var clients sync.WaitGroup
	for client := range correctors {
		clients.Go(func() {
			for n := 0; done.Load() < corrections && !t.Failed(); n++ {
				s := servers[(client+n)%len(servers)]
				before, number, err := read(s, t)
				if err != nil {
					t.Error(err)
					return
				}
				body := fmt.Sprintf(`{"name":"%d by %d-%d"}`, number+1, client, n)
				request, err := s.Request(t.Context(), http.MethodPatch, "/v1/pets/1", body, "If-Match", before)
				if err != nil {
					t.Error(err)
					return
				}
				status, response, err := harness.Send(racing, request)
				switch {
				case err == nil && status == http.StatusPreconditionFailed:
					refused.Add(1)
				case err != nil || status != http.StatusOK:
					t.Errorf("got %d %s %v", status, response, err)
				default:
					done.Add(1)
					if _, again := counted.LoadOrStore(number+1, client); again {
						t.Errorf("two corrections have the number %d: one is lost", number+1)
					}
				}
			}
		})
	}
	clients.Wait()
	var number int64
	testkit.WaitUntil(t, "the last correction is read", func() bool {
		var err error
		_, number, err = read(servers[0], t)
		testkit.Check(t, err)
		return number >= done.Load()
	})
	testkit.Equal(t, "the number of corrections", done.Load(), number)
	t.Logf("%d corrections, %d refused with 412", done.Load(), refused.Load())
}

// read returns the ETag of the animal, and the number in its name.
func read(s *harness.Server, t *testing.T) (etag string, number int64, err error) {
	request, err := s.Request(t.Context(), http.MethodGet, "/v1/pets/1", "")
	if err != nil {
		return "", 0, err
	}
	response, err := racing.Do(request)
	if err != nil {
		return "", 0, err
	}
	defer response.Body.Close()
	_, err = fmt.Fscanf(response.Body, `{"id":1,"name":"%d by`, &number)
	return response.Header.Get("ETag"), number, err
}
