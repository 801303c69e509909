package ledger

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"strings"
	"sync"
	"sync/atomic"
	"time"
)

// An outcome is the result of a request for its client. Of two orders of one animal, the outcome
// is acknowledged if one of them is, else unknown if one is, and a conflict only if both are.
type outcome int

const (
	acknowledged outcome = iota // a response with a status below 300 was read whole
	conflict                    // 409
	refused                     // another 4xx, or 503
	unknown                     // anything else
)

// names is the number of names that were given to animals.
var names atomic.Int64

// Clients sell animals.
type Clients struct {
	Ledger    *Ledger
	URL       func() string // returns the URL of the service, without a path, for the next request
	Key       string        // an API key
	Uncertain bool          // whether a write may be stored whose response was 503
	Pause     time.Duration // of each client after each sale

	sold atomic.Int64
	http http.Client
}

// NewClients returns clients of a service that has one URL.
func NewClients(l *Ledger, url, key string) *Clients {
	transport := &http.Transport{MaxIdleConnsPerHost: 256, DisableCompression: true}
	return &Clients{Ledger: l, URL: func() string { return url }, Key: key, http: http.Client{Transport: transport, Timeout: 20 * time.Second}}
}

// Run sells animals with n clients until ctx ends, and waits for the responses of requests that
// were sent. After an unknown outcome, a request that may be repeated is repeated until its
// outcome is known.
func (c *Clients) Run(ctx context.Context, n int) {
	defer c.http.CloseIdleConnections()
	var wait sync.WaitGroup
	for client := range n {
		wait.Go(func() {
			for i := client; ctx.Err() == nil; i++ {
				s := newSale(fmt.Sprint("animal-", names.Add(1)), i)
				c.Ledger.add(s)
				c.sell(ctx, s)
				sleep(ctx, c.Pause)
			}
		})
	}
	wait.Wait()
}

// Start runs n clients in the background until stop is called, which waits for them.
func (c *Clients) Start(ctx context.Context, n int) (stop func()) {
	ctx, cancel := context.WithCancel(ctx)
	var wait sync.WaitGroup
	wait.Go(func() { c.Run(ctx, n) })
	return func() { cancel(); wait.Wait() }
}

// During runs n clients for a duration, and returns the number of sales.
func (c *Clients) During(ctx context.Context, d time.Duration, n int) int64 {
	ctx, cancel := context.WithTimeout(ctx, d)
	defer cancel()
	c.Run(ctx, n)
	return c.sold.Load()
}

// Retry completes the sales whose outcome is unknown and that may be repeated.
func (c *Clients) Retry(ctx context.Context) {
	defer c.http.CloseIdleConnections()
	for _, s := range c.Ledger.sales {
		if s.unknown && s.repeatable(s.next()) && !c.sell(ctx, s) {
			c.Ledger.addWrong("the retry of the sale of %s failed", s.name)
		}
	}
}

// Read lists animals with n clients until ctx ends, with a pause after each response.
func (c *Clients) Read(ctx context.Context, n int, pause time.Duration) {
	defer c.http.CloseIdleConnections()
	var wait sync.WaitGroup
	for range n {
		wait.Go(func() {
			for ; ctx.Err() == nil; sleep(ctx, pause) {
				if status, _, r, err := c.send(http.MethodGet, "/v1/pets", "", ""); err == nil && status == http.StatusOK {
					c.Ledger.mu.Lock()
					c.Ledger.reads = append(c.Ledger.reads, r)
					c.Ledger.mu.Unlock()
				}
			}
		})
	}
	wait.Wait()
}

// sleep waits until ctx ends, for d at most.
func sleep(ctx context.Context, d time.Duration) {
	select {
	case <-ctx.Done():
	case <-time.After(d):
	}
}

// next returns the first step that was not acknowledged.
func (s *sale) next() int {
	for n := added; n < steps; n++ {
		if s.steps[n].acknowledged == never {
			return n
		}
	}
	return steps
}

// repeatable reports whether a step may be sent again. The end of an order has no key: the second
// time, it changes nothing.
func (s *sale) repeatable(step int) bool { return s.keyed || step == ended }

// sell does the steps of a sale that were not acknowledged, and reports whether all are. It ends
// with a step that is refused, or whose outcome is unknown.
func (c *Clients) sell(ctx context.Context, s *sale) bool {
	for step := s.next(); step < steps; step++ {
		o := c.do(s, step)
		for ; o == unknown && s.repeatable(step) && ctx.Err() == nil; o = c.do(s, step) {
			sleep(ctx, 100*time.Millisecond)
		}
		s.unknown = o == unknown
		if s.unknown {
			sleep(ctx, 100*time.Millisecond)
		}
		if o != acknowledged {
			return false
		}
	}
	c.sold.Add(1)
	return true
}

// do does one step of a sale. Nobody else changes its animal, so a conflict is a wrong response.
func (c *Clients) do(s *sale, step int) outcome {
	first := c.Ledger.send(&s.steps[step])
	o := c.attempt(s, step)
	if o == conflict {
		c.Ledger.addWrong("got 409 to the valid step %d of %s", step, s.name)
		o = refused
	}
	c.Ledger.end(&s.steps[step], o, first)
	return o
}

func (c *Clients) attempt(s *sale, step int) outcome {
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
	return c.post(s, fmt.Sprintf("/v1/store/orders/%d/%s", s.order, verb), "", "", new(int64))
}

// orderTwice orders an animal twice at the same time. One of the orders must be refused.
func (c *Clients) orderTwice(s *sale) outcome {
	body := fmt.Sprintf(`{"petId":%d}`, s.pet)
	var orders [2]int64
	var outcomes [2]outcome
	var wait sync.WaitGroup
	for i := range 2 {
		wait.Go(func() { outcomes[i] = c.post(s, "/v1/store/orders", body, fmt.Sprint("order", i), &orders[i]) })
	}
	wait.Wait()
	if max(outcomes[0], outcomes[1]) == unknown { // an order that arrives late must not find the animal available again
		s.cancelled = false
	}
	s.order = max(orders[0], orders[1])
	if orders[0] != 0 && orders[1] != 0 {
		c.Ledger.addWrong("%s was sold twice, by the orders %d", s.name, orders)
	}
	if outcomes[0] == acknowledged || outcomes[1] == acknowledged {
		return acknowledged
	}
	return max(outcomes[0], outcomes[1])
}

// post sends a request of a sale, with an Idempotency-Key that ends with suffix unless that is
// empty or the sale has none. It stores the id of the response.
func (c *Clients) post(s *sale, path, body, suffix string, id *int64) outcome {
	key := ""
	if s.keyed && suffix != "" {
		key = s.name + "-" + suffix
	}
	status, text, r, err := c.send(http.MethodPost, path, body, key)
	o := c.outcome(status, err)
	if o == acknowledged {
		var record struct{ ID int64 }
		if json.Unmarshal(text, &record) != nil || record.ID == 0 {
			c.Ledger.addWrong("got %d %s to %s %s, which has no id", status, text, path, body)
		}
		*id = record.ID
	}
	if o == refused && status < http.StatusInternalServerError {
		c.Ledger.addWrong("got %d %s to the valid request %s %s", status, text, path, body)
	}
	c.Ledger.count(o, r)
	return o
}

func (c *Clients) outcome(status int, err error) outcome {
	switch {
	case err != nil:
		return unknown
	case status < http.StatusMultipleChoices:
		return acknowledged
	case status == http.StatusConflict:
		return conflict
	case status < http.StatusInternalServerError, status == http.StatusServiceUnavailable && !c.Uncertain:
		return refused
	}
	return unknown
}

// send sends a request, also after the clients were stopped.
func (c *Clients) send(method, path, body, key string) (status int, text []byte, r Response, err error) {
	request, err := http.NewRequestWithContext(context.Background(), method, c.URL()+path, strings.NewReader(body))
	if err != nil {
		return 0, nil, r, err
	}
	request.Header.Set("Authorization", "Bearer "+c.Key)
	request.Header.Set("Content-Type", "application/json")
	if key != "" {
		request.Header.Set("Idempotency-Key", key)
	}
	begun := time.Now()
	response, err := c.http.Do(request)
	if err != nil {
		return 0, nil, r, err
	}
	defer response.Body.Close()
	text, err = io.ReadAll(response.Body)
	if response.StatusCode == http.StatusServiceUnavailable && response.Header.Get("Retry-After") != "" {
		c.Ledger.mu.Lock()
		c.Ledger.counts.Unavailable++
		c.Ledger.mu.Unlock()
	} else if response.StatusCode >= http.StatusInternalServerError {
		c.Ledger.addWrong("got %d %s to %s %s, which is not 503 with Retry-After", response.StatusCode, text, method, path)
	}
	now := time.Now()
	return response.StatusCode, text, Response{now, now.Sub(begun)}, err
}
