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
	URL       string        // of the service, without a path
	Key       string        // an API key
	Uncertain bool          // whether a write may be stored whose response was 503
	Pause     time.Duration // of each client after each sale

	sold atomic.Int64
	http http.Client
}

// NewClients returns clients of a service.
func NewClients(l *Ledger, url, key string) *Clients {
	transport := &http.Transport{MaxIdleConnsPerHost: 256, DisableCompression: true}
	return &Clients{Ledger: l, URL: url, Key: key, http: http.Client{Transport: transport, Timeout: 20 * time.Second}}
}

// Start sells animals with n clients until stop is called, which waits for the responses of requests
// that were sent. After an unknown outcome, a request that may be repeated is repeated until its
// outcome is known.
func (c *Clients) Start(ctx context.Context, n int) (stop func()) {
	return c.start(ctx, n, c.Pause, func(ctx context.Context, i int) {
		c.sell(ctx, c.Ledger.newSale(fmt.Sprint("animal-", names.Add(1)), i))
	})
}

// StartReading lists animals with n clients until stop is called, with a pause after each response.
func (c *Clients) StartReading(ctx context.Context, n int, pause time.Duration) (stop func()) {
	return c.start(ctx, n, pause, func(context.Context, int) { c.send(http.MethodGet, "/v1/pets", "", "") })
}

func (c *Clients) start(ctx context.Context, n int, pause time.Duration, do func(ctx context.Context, i int)) (stop func()) {
	ctx, cancel := context.WithCancel(ctx)
	var wait sync.WaitGroup
	for client := range n {
		wait.Go(func() {
			for i := client; ctx.Err() == nil; i++ {
				do(ctx, i)
				sleep(ctx, pause)
			}
		})
	}
	return func() { cancel(); wait.Wait(); c.http.CloseIdleConnections() }
}

// During sells animals with n clients for a duration, and returns the number of sales.
func (c *Clients) During(ctx context.Context, d time.Duration, n int) int64 {
	stop := c.Start(ctx, n)
	sleep(ctx, d)
	stop()
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

// sleep waits until ctx ends, for d at most.
func sleep(ctx context.Context, d time.Duration) {
	select {
	case <-ctx.Done():
	case <-time.After(d):
	}
}

// next returns the first step that was not acknowledged.
func (s *sale) next() int {
	n := added
	for n < steps && s.steps[n].acknowledged != never {
		n++
	}
	return n
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
func (c *Clients) do(s *sale, n int) outcome {
	step := &s.steps[n]
	first := step.sent == never
	if first {
		step.sent = Monotonic()
	}
	o := c.attempt(s, n)
	if o == conflict {
		c.Ledger.addWrong("got 409 to the valid step %d of %s", n, s.name)
		o = refused
	}
	switch {
	case o == acknowledged:
		step.acknowledged = Monotonic()
	case o == refused && first:
		step.sent = never
	}
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
	if min(outcomes[0], outcomes[1]) == acknowledged {
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
	o, text := c.send(http.MethodPost, path, body, key)
	if o == acknowledged {
		var record struct{ ID int64 }
		if json.Unmarshal(text, &record) != nil || record.ID == 0 {
			c.Ledger.addWrong("got %s to %s %s, which has no id", text, path, body)
		}
		*id = record.ID
	}
	return o
}

// send sends a request, also after the clients were stopped, and records its outcome.
func (c *Clients) send(method, path, body, key string) (o outcome, text []byte) {
	request, err := http.NewRequestWithContext(context.Background(), method, c.URL+path, strings.NewReader(body))
	if err != nil {
		c.Ledger.addWrong("no request: %v", err)
		return unknown, nil
	}
	request.Header.Set("Authorization", "Bearer "+c.Key)
	request.Header.Set("Content-Type", "application/json")
	if key != "" {
		request.Header.Set("Idempotency-Key", key)
	}
	begun, status, retryAfter := time.Now(), 0, ""
	response, err := c.http.Do(request)
	if err == nil {
		status, retryAfter = response.StatusCode, response.Header.Get("Retry-After")
		text, err = io.ReadAll(response.Body)
		response.Body.Close()
	}
	took := time.Since(begun)
	if status >= http.StatusMultipleChoices && status != http.StatusConflict && (status != http.StatusServiceUnavailable || retryAfter == "") {
		c.Ledger.addWrong("got %d %s to the valid request %s %s %s", status, text, method, path, body)
	}
	o = unknown
	switch {
	case err != nil: // also one after the status
	case status < http.StatusMultipleChoices:
		o = acknowledged
	case status == http.StatusConflict:
		o = conflict
	case status < http.StatusInternalServerError, status == http.StatusServiceUnavailable && !c.Uncertain:
		o = refused
	}
	c.Ledger.count(method, status, o, Response{begun.Add(took), took})
	return o, text
}
