// Package followers follows the changes of a service with many clients, which connect again at random, and checks that each
// gets every change once, in order.
package followers

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"hash/fnv"
	"io"
	"math/rand/v2"
	"net/http"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"example.com/petstore/test/harness"
)

// Followers are clients of the processes of a service.
type Followers struct {
	// URLs returns the address of each process, or "" while one is not to be used.
	URLs []func() string
	Key  string

	followers []*follower
	reading   sync.WaitGroup
	connected atomic.Int64
}

// A follower has the changes up to a position.
type follower struct {
	*Followers
	random   *rand.Rand
	position int64
	count    atomic.Int64
	digest   uint64                    // of the changes
	pets     map[int64]json.RawMessage // the copy of the first follower, nil for the others
	orders   map[int64]json.RawMessage
	err      error // a change that is not the next one
}

// Follow starts n followers after the position of the service, which must record changes. They end with ctx.
func (f *Followers) Follow(ctx context.Context, t *testing.T, n int) {
	t.Helper()
	response, err := f.send(ctx, f.URLs[0](), "/v1/pets", "application/json")
	harness.Check(t, err)
	harness.Check(t, response.Body.Close())
	position, err := strconv.ParseInt(response.Header.Get("Changes-Position"), 10, 64)
	harness.Check(t, err)
	random := harness.Rand(t)
	for i := range n {
		one := &follower{Followers: f, random: rand.New(rand.NewPCG(random.Uint64(), 0)), position: position} //nolint:gosec // not for a secret
		if i == 0 {
			one.pets, one.orders = map[int64]json.RawMessage{}, map[int64]json.RawMessage{}
		}
		f.followers = append(f.followers, one)
		f.reading.Go(func() {
			for ctx.Err() == nil && one.err == nil {
				one.read(ctx)
			}
		})
	}
}

// Slowest returns the number of changes that the slowest follower has got.
func (f *Followers) Slowest() int {
	slowest := f.followers[0].count.Load()
	for _, one := range f.followers {
		slowest = min(slowest, one.count.Load())
	}
	return int(slowest)
}

// WantAll expects, after the context of Follow has ended and while the service runs, that all followers have got the same changes,
// and that the copy that they make is the store.
func (f *Followers) WantAll(t *testing.T) {
	t.Helper()
	f.reading.Wait()
	first := f.followers[0]
	for i, one := range f.followers {
		for start := time.Now(); one.err == nil && !one.readPage(t.Context()); time.Sleep(time.Millisecond) { //nolint:forbidigo // of the test
			if time.Since(start) > harness.Scaled(time.Minute) {
				t.Fatalf("follower %d cannot read the last changes", i)
			}
		}
		if one.err != nil {
			t.Errorf("follower %d: %v", i, one.err)
		} else if one.count.Load() != first.count.Load() || one.digest != first.digest {
			t.Errorf("follower %d got %d changes, the first %d, or others", i, one.count.Load(), first.count.Load())
		}
	}
	t.Logf("%d followers got %d changes with %d connections", len(f.followers), first.count.Load(), f.connected.Load())
	for path, copied := range map[string]map[int64]json.RawMessage{"/v1/pets": first.pets, "/v1/store/orders": first.orders} {
		if diff := cmp.Diff(f.all(t, path), copied); diff != "" {
			t.Errorf("%s differs from the copy (-store +copy):\n%.2000s", path, diff)
		}
	}
}

// all returns all records of a list.
func (f *Followers) all(t *testing.T, path string) map[int64]json.RawMessage {
	t.Helper()
	all, after := map[int64]json.RawMessage{}, int64(0)
	for more := true; more; {
		response, err := f.send(t.Context(), f.URLs[0](), fmt.Sprintf("%s?limit=100&after=%d", path, after), "application/json")
		harness.Check(t, err)
		var page []json.RawMessage
		harness.Check(t, json.NewDecoder(response.Body).Decode(&page))
		harness.Check(t, response.Body.Close())
		for _, record := range page {
			after = idOf(record)
			all[after] = record
		}
		more = response.Header.Get("Link") != ""
	}
	return all
}

func idOf(record json.RawMessage) int64 {
	var id struct{ ID int64 }
	_ = json.Unmarshal(record, &id) // 0 is the id of no record
	return id.ID
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

// read reads a page, or some changes of a stream, of a random process.
func (f *follower) read(ctx context.Context) {
	if f.random.IntN(4) == 0 {
		f.readPage(ctx)
		return
	}
	ctx, cancel := context.WithTimeout(ctx, time.Duration(f.random.IntN(2000))*time.Millisecond)
	defer cancel()
	url := f.URLs[f.random.IntN(len(f.URLs))]()
	response, err := f.send(ctx, url, fmt.Sprint("/v1/changes?after=", f.position), "text/event-stream")
	if err != nil {
		f.wait(ctx)
		return
	}
	defer response.Body.Close()
	f.connected.Add(1)
	lines, data := bufio.NewScanner(response.Body), ""
	for left := 1 + f.random.IntN(1000); left > 0 && f.err == nil && lines.Scan(); {
		switch line := lines.Text(); {
		case strings.HasPrefix(line, "data: "):
			data = line[len("data: "):]
		case line == "" && data != "": // the event is complete
			f.apply([]byte(data))
			data = ""
			left--
		}
	}
}

// readPage reads a page of a random process, and reports whether it is empty.
func (f *follower) readPage(ctx context.Context) (empty bool) {
	url := f.URLs[f.random.IntN(len(f.URLs))]()
	response, err := f.send(ctx, url, fmt.Sprintf("/v1/changes?limit=%d&after=%d", 1+f.random.IntN(100), f.position), "application/json")
	if err != nil {
		f.wait(ctx)
		return false
	}
	defer response.Body.Close()
	f.connected.Add(1)
	var page []json.RawMessage
	if json.NewDecoder(response.Body).Decode(&page) != nil {
		return false
	}
	for _, change := range page {
		f.apply(change)
	}
	return len(page) == 0
}

// wait waits a moment for a process that is not there.
func (f *follower) wait(ctx context.Context) {
	select {
	case <-ctx.Done():
	case <-time.After(time.Duration(f.random.IntN(50)) * time.Millisecond):
	}
}

// apply applies a change, which must be the next one.
func (f *follower) apply(data []byte) {
	var change struct {
		Seq        int64
		Pet, Order json.RawMessage
	}
	if err := json.Unmarshal(data, &change); err != nil || change.Seq != f.position+1 {
		f.err = fmt.Errorf("after the change %d: got %s (%w)", f.position, data, err)
		return
	}
	f.position++
	f.count.Add(1)
	hash := fnv.New64a()
	_, _ = fmt.Fprintf(hash, "%d %s", f.digest, data)
	f.digest = hash.Sum64()
	switch {
	case f.pets == nil:
	case change.Pet != nil:
		f.pets[idOf(change.Pet)] = change.Pet
	default:
		f.orders[idOf(change.Order)] = change.Order
	}
}
