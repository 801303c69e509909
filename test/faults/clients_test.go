package faults

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"example.com/petstore/test/harness"
)

// An outcome is the result of a request for its client.
type outcome int

const (
	acknowledged outcome = iota // its response was read whole
	conflict                    // 409
	refused                     // 503
	unknown                     // anything else
)

// clients sell animals with a server until ctx ends.
type clients struct {
	*ledger
	server    *server
	http      *http.Client
	uncertain atomic.Bool // whether a 503 may have been stored, because the disk fails
	sales     atomic.Int64
	failed    func(status int, body string) // called for each 5xx, if not nil
	latency   func(time.Duration)           // called for each response, if not nil
}

func newClients(l *ledger, s *server, n int) *clients {
	return &clients{ledger: l, server: s, http: &http.Client{Transport: &http.Transport{MaxIdleConnsPerHost: 2 * n, DisableCompression: true}}}
}

// run sells animals with n clients until ctx ends or the server does. name is that of no other run.
func (c *clients) run(ctx context.Context, n int, name string) {
	defer c.http.CloseIdleConnections()
	var wait sync.WaitGroup
	for client := range n {
		wait.Go(func() {
			for i := 0; ctx.Err() == nil; i++ {
				s := newSale(fmt.Sprintf("%s-%d-%d", name, client, i), client+i)
				c.add(s)
				if !c.sell(s) {
					return
				}
			}
		})
	}
	wait.Wait()
}

// sell does the steps of a sale, and returns false after one whose outcome is unknown.
func (c *clients) sell(s *sale) bool {
	for step := added; step < steps; step++ {
		switch c.do(s, step) {
		case conflict, refused:
			return true
		case unknown:
			s.unknown = true
			return false
		case acknowledged:
		}
	}
	c.sales.Add(1)
	return true
}

// do does one step of a sale. Nobody else changes its animal, so a conflict is a wrong response.
func (c *clients) do(s *sale, step int) outcome {
	before := s.sent[step]
	if before == never {
		s.sent[step] = monotonic()
	}
	o := c.attempt(s, step)
	if o == conflict {
		c.addWrong(fmt.Sprintf("got 409 to the valid step %d of %s", step, s.name))
		o = refused
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	switch {
	case o == acknowledged:
		s.acked[step] = monotonic()
	case o == refused && before == never:
		s.sent[step] = never
	}
	return o
}

func (c *clients) attempt(s *sale, step int) outcome {
	switch step {
	case added:
		return c.post(s, "/v1/pets", fmt.Sprintf(`{"name":%q,"categoryId":%d,"status":"available"}`, s.name, s.category), "add", &s.pet)
	case ordered:
		return c.orderTwice(s)
	}
	verb := "deliver"
	if s.cancelled {
		verb = "cancel"
	}
	return c.post(s, fmt.Sprintf("/v1/store/orders/%d/%s", s.order, verb), "", "", nil)
}

// orderTwice orders an animal twice at the same time. One of the orders must be refused.
func (c *clients) orderTwice(s *sale) outcome {
	body := fmt.Sprintf(`{"petId":%d}`, s.pet)
	var orders [2]int64
	var outcomes [2]outcome
	var wait sync.WaitGroup
	for i := range 2 {
		wait.Go(func() { outcomes[i] = c.post(s, "/v1/store/orders", body, fmt.Sprint("order", i), &orders[i]) })
	}
	wait.Wait()
	s.order = max(orders[0], orders[1])
	if orders[0] != 0 && orders[1] != 0 { // sold twice, which compare reports
		s.order = -1
	}
	return best(outcomes)
}

// best returns acknowledged if one of two orders is, else unknown if one is, and a conflict only if
// both are.
func best(o [2]outcome) outcome {
	if o[0] == acknowledged || o[1] == acknowledged {
		return acknowledged
	}
	return max(o[0], o[1])
}

// post sends a request of a sale, with an Idempotency-Key that ends with suffix unless that is
// empty or the sale has none. It stores the id of the response.
func (c *clients) post(s *sale, path, body, suffix string, id *int64) outcome {
	o := c.send(s, path, body, suffix, id)
	c.count(o)
	return o
}

func (c *clients) send(s *sale, path, body, suffix string, id *int64) outcome {
	request, err := c.server.Request(context.Background(), http.MethodPost, path, body)
	if err != nil {
		return unknown
	}
	if s.keyed && suffix != "" {
		request.Header.Set("Idempotency-Key", s.name+"-"+suffix)
	}
	begun := time.Now()
	response, err := c.http.Do(request)
	if err != nil {
		return unknown
	}
	defer response.Body.Close()
	text, err := io.ReadAll(response.Body)
	if err != nil {
		return unknown
	}
	if c.latency != nil {
		c.latency(time.Since(begun))
	}
	if response.StatusCode >= http.StatusInternalServerError && c.failed != nil {
		c.failed(response.StatusCode, string(text))
	}
	switch status := response.StatusCode; {
	case status == http.StatusConflict:
		return conflict
	case status == http.StatusServiceUnavailable && !c.uncertain.Load():
		return refused
	case status < http.StatusInternalServerError && status >= http.StatusMultipleChoices:
		c.addWrong(fmt.Sprintf("got %d %s to the valid request %s %s", status, text, path, body))
		return refused
	case status >= 300:
		return unknown
	}
	if id == nil {
		return acknowledged
	}
	var record struct{ ID int64 }
	if json.Unmarshal(text, &record) != nil || record.ID == 0 {
		return unknown
	}
	*id = record.ID
	return acknowledged
}

// retry sends the steps with an unknown outcome and an Idempotency-Key again, and expects that
// they are acknowledged.
func (c *clients) retry(t *testing.T) {
	t.Helper()
	defer c.http.CloseIdleConnections()
	for _, s := range c.ledger.sales {
		if !s.unknown || !s.keyed {
			continue
		}
		for step := added; step < steps; step++ {
			if s.acked[step] != never {
				continue
			}
			if s.sent[step] == never {
				break
			}
			if o := c.do(s, step); o != acknowledged {
				t.Errorf("the retry of the step %d of %s: got the outcome %d, want it acknowledged", step, s.name, o)
			}
		}
		s.unknown = false
	}
}

// during runs n clients for a duration.
func (c *clients) during(t *testing.T, d time.Duration, n int, name string) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), d)
	defer cancel()
	c.run(ctx, n, name)
}

// monotonic returns the time of the clock that the injected disk uses, too.
func monotonic() int64 {
	var now unix.Timespec
	if err := unix.ClockGettime(unix.CLOCK_MONOTONIC, &now); err != nil {
		return 0
	}
	return now.Nano()
}

// TestConflictIsWrongExceptForOneOfTwoOrders sells one animal with a server that returns 409 to
// some of the requests.
func TestConflictIsWrongExceptForOneOfTwoOrders(t *testing.T) {
	for name, test := range map[string]struct {
		conflicts map[string]int // how many requests with a path get 409
		wrong     int
	}{
		"one order":   {map[string]int{"/v1/store/orders": 1}, 0},
		"both orders": {map[string]int{"/v1/store/orders": 2}, 1},
		"animal":      {map[string]int{"/v1/pets": 1}, 1},
		"delivery":    {map[string]int{"/v1/store/orders": 1, "/v1/store/orders/5/deliver": 1}, 1},
	} {
		var mu sync.Mutex // for test.conflicts
		api := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			mu.Lock()
			defer mu.Unlock()
			if test.conflicts[r.URL.Path] > 0 {
				test.conflicts[r.URL.Path]--
				w.WriteHeader(http.StatusConflict)
			}
			fmt.Fprintln(w, `{"id":5}`)
		}))
		t.Cleanup(api.Close)
		c := newClients(newLedger(), &server{Server: &harness.Server{URL: api.URL}}, 1)
		if c.sell(newSale("rex", 1)); len(c.wrong) != test.wrong {
			t.Errorf("%s: got the wrong responses %q, want %d", name, c.wrong, test.wrong)
		}
	}
}
