// Package followers follows the changes of a service with many clients, which disconnect and connect again
// at random. It checks that each client gets every change once, in order.
package followers

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"hash"
	"hash/fnv"
	"io"
	"math"
	"math/rand/v2"
	"net/http"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"example.com/petstore/internal/test/testkit"
	"example.com/petstore/test/harness"
)

// Followers are clients that follow the changes of a service with one or more processes.
type Followers struct {
	// URLs has a function for each process. It returns the address of the process, or "" while followers
	// must not use it.
	URLs []func() string
	Key  string

	begin     int64 // the position after which the followers begin
	followers []*follower
	reading   sync.WaitGroup
}

// A follower is a client that has read the changes up to a position.
type follower struct {
	*Followers
	random   *rand.Rand
	position atomic.Int64
	digest   hash.Hash64                // the digest of the changes
	copied   map[string]json.RawMessage // the records and named categories by path and id; nil except for the first follower
	err      error                      // set when a change is not the next one
}

// Follow starts n followers after the current position. The followers stop with ctx.
func (f *Followers) Follow(ctx context.Context, t *testing.T, n int) {
	t.Helper()
	response, err := f.send(ctx, f.URLs[0](), "/v1/pets", "application/json")
	testkit.Check(t, err)
	testkit.Check(t, response.Body.Close())
	f.begin, err = strconv.ParseInt(response.Header.Get("Changes-Position"), 10, 64)
	testkit.Check(t, err)
	random := harness.Rand(t)
	for i := range n {
		one := &follower{Followers: f, random: rand.New(rand.NewPCG(random.Uint64(), 0)), digest: fnv.New64a()} //nolint:gosec // not for a secret
		one.position.Store(f.begin)
		if i == 0 {
			one.copied = map[string]json.RawMessage{}
		}
		f.followers = append(f.followers, one)
		f.reading.Go(func() {
			for ctx.Err() == nil && one.err == nil {
				one.read(ctx)
			}
		})
	}
}

// Slowest returns the number of changes that the slowest follower has read.
func (f *Followers) Slowest() int {
	slowest := int64(math.MaxInt64)
	for _, one := range f.followers {
		slowest = min(slowest, one.position.Load()-f.begin)
	}
	return int(slowest)
}

// WantAll expects that all followers have read the same changes, and that the copy of the first follower
// equals the store. The context of Follow must have ended, and the service must run.
func (f *Followers) WantAll(t *testing.T) {
	t.Helper()
	f.reading.Wait()
	first := f.followers[0]
	for i, one := range f.followers {
		for start := time.Now(); one.err == nil && !one.readPage(t.Context()); time.Sleep(time.Millisecond) { //nolint:forbidigo // in a test
			if time.Since(start) > testkit.Scaled(time.Minute) {
				t.Fatalf("follower %d cannot read the last changes", i)
			}
		}
		if one.err != nil {
			t.Errorf("follower %d: %v", i, one.err)
		} else if one.position.Load() != first.position.Load() || one.digest.Sum64() != first.digest.Sum64() {
			t.Errorf("follower %d is at the position %d, the first at %d, or got other changes", i, one.position.Load(), first.position.Load())
		}
	}
	t.Logf("%d followers got %d changes", len(f.followers), f.Slowest())
	stored := map[string]json.RawMessage{}
	for _, path := range []string{"/v1/pets", "/v1/store/orders", "/v1/categories"} {
		f.readList(t, path, stored)
	}
	if diff := cmp.Diff(stored, first.copied); diff != "" {
		t.Errorf("the store differs from the copy (-store +copy):\n%.2000s", diff)
	}
}

// readList adds all records of a list to stored.
func (f *Followers) readList(t *testing.T, path string, stored map[string]json.RawMessage) {
	t.Helper()
	for link, more := "<?limit=100", true; more; {
		response, err := f.send(t.Context(), f.URLs[0](), path+link[1:], "application/json")
		testkit.Check(t, err)
		var page []json.RawMessage
		testkit.Check(t, json.NewDecoder(response.Body).Decode(&page))
		testkit.Check(t, response.Body.Close())
		for _, record := range page {
			members, _, isCategory := strings.Cut(string(record), `,"available":`)
			if isCategory { // the feed has names, but no numbers of animals
				record = json.RawMessage(members + "}")
			}
			if !isCategory || strings.Contains(members, `,"name":`) {
				stored[keyOf(path, record)] = record
			}
		}
		link, _, more = strings.Cut(response.Header.Get("Link"), ">")
	}
}

func keyOf(path string, record json.RawMessage) string {
	var id struct{ ID int64 }
	_ = json.Unmarshal(record, &id) // if it fails, the id is 0, which no record has
	return fmt.Sprint(path, "/", id.ID)
}

func (f *Followers) send(ctx context.Context, url, path, accept string) (*http.Response, error) {
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, url+path, http.NoBody)
	if err != nil {
		return nil, err
	}
	request.Header.Set("Authorization", "Bearer "+f.Key)
	request.Header.Set("Accept", accept)
	response, err := http.DefaultClient.Do(request)
	if err != nil || response.StatusCode == http.StatusOK {
		return response, err
	}
	defer response.Body.Close()
	body, _ := io.ReadAll(response.Body)
	return nil, fmt.Errorf("%s: %d %s", path, response.StatusCode, body)
}

// get sends a request to a random process. If that does not respond, get waits a moment.
func (f *follower) get(ctx context.Context, query, accept string) (*http.Response, error) {
	url, path := f.URLs[f.random.IntN(len(f.URLs))](), fmt.Sprintf("/v1/changes?after=%d%s", f.position.Load(), query)
	response, err := f.send(ctx, url, path, accept)
	if err != nil {
		select {
		case <-ctx.Done():
		case <-time.After(time.Duration(f.random.IntN(50)) * time.Millisecond):
		}
		return nil, err
	}
	return response, nil
}

// read reads a page or some changes of a stream from a random process.
func (f *follower) read(ctx context.Context) {
	if f.random.IntN(4) == 0 {
		f.readPage(ctx)
		return
	}
	ctx, cancel := context.WithTimeout(ctx, time.Duration(f.random.IntN(2000))*time.Millisecond)
	defer cancel()
	response, err := f.get(ctx, "", "text/event-stream")
	if err != nil {
		return
	}
	defer response.Body.Close()
	lines, data := bufio.NewScanner(response.Body), ""
	for left := 1 + f.random.IntN(1000); left > 0 && f.err == nil && lines.Scan(); {
		switch line := lines.Text(); {
		case strings.HasPrefix(line, "data: "):
			data = line[len("data: "):]
		case line == "" && data != "": // an empty line ends the event
			f.apply([]byte(data))
			data = ""
			left--
		}
	}
}

// readPage reads a page from a random process, and reports whether it is empty.
func (f *follower) readPage(ctx context.Context) (empty bool) {
	response, err := f.get(ctx, fmt.Sprint("&limit=", 1+f.random.IntN(100)), "application/json")
	if err != nil {
		return false
	}
	defer response.Body.Close()
	var page []json.RawMessage
	if json.NewDecoder(response.Body).Decode(&page) != nil {
		return false
	}
	for _, change := range page {
		f.apply(change)
	}
	return len(page) == 0
}

// apply applies a change. It must be the next one.
func (f *follower) apply(data []byte) {
	var change struct {
		Seq                int64
		Type               string
		Caller             string
		Pet, Before, Order json.RawMessage
		Category           json.RawMessage
	}
	err := json.Unmarshal(data, &change)
	if next := f.position.Load() + 1; err == nil && change.Seq != next {
		err = fmt.Errorf("want the change %d", next)
	}
	if before := f.copied[keyOf("/v1/pets", change.Before)]; err == nil &&
		(change.Caller == "" || f.copied != nil && change.Before != nil && string(change.Before) != string(before)) {
		err = fmt.Errorf("want a caller, and the animal before: %s", before)
	}
	if err != nil {
		f.err = fmt.Errorf("got %s: %w", data, err)
		return
	}
	f.position.Add(1)
	_, _ = f.digest.Write(data)
	switch {
	case f.copied == nil:
	case change.Type == "pet.removed":
		delete(f.copied, keyOf("/v1/pets", change.Pet))
	case change.Pet != nil:
		f.copied[keyOf("/v1/pets", change.Pet)] = change.Pet
	case change.Type == "category.removed":
		delete(f.copied, keyOf("/v1/categories", change.Category))
	case change.Category != nil:
		f.copied[keyOf("/v1/categories", change.Category)] = change.Category
	default:
		f.copied[keyOf("/v1/store/orders", change.Order)] = change.Order
	}
}
