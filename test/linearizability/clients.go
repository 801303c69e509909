package linearizability

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"net/http"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"time"
)

// Clients send random requests, many of them for the same animals at once. If the processes share an SQLite file, each client
// uses one process only.
type Clients struct {
	History *History
	// URLs returns the address of each process, or "" while one is not to be used.
	URLs []func() string
	Key  string
	Seed uint64
	// Pause is how long each client waits between its requests.
	Pause time.Duration

	mu      sync.Mutex
	animals [16]*animal // that are used now
	clients int         // of Run
	count   int         // of animals
	last    int64       // the greatest id
}

// An animal is what the clients know of it. Clients.mu guards it.
type animal struct {
	number int
	keyed  bool
	sent   bool // its first request
	id     int64
	uses   int
	orders []*order
}

type order struct {
	number int
	keyed  bool
	id     int64
}

// usesOfAnimal is how many requests are sent for an animal, and costOfUnknown for how many one without a known outcome
// counts: the time of the checker grows exponentially with those.
const usesOfAnimal, costOfUnknown = 24, 4

// Run sends requests by n clients until ctx ends, or the history has enough operations, and waits for all responses.
func (c *Clients) Run(ctx context.Context, n, operations int) {
	c.clients = n
	var wait sync.WaitGroup
	for number := range n {
		wait.Go(func() {
			client := c.newClient(number, c.processes(number)...)
			defer client.http.CloseIdleConnections()
			for ctx.Err() == nil && c.History.Len() < operations {
				client.next(ctx)
				time.Sleep(c.Pause)
			}
		})
	}
	wait.Wait()
}

// processes returns those that a client uses.
func (c *Clients) processes(number int) (all []int) {
	if c.History.SharedFile {
		return []int{number % len(c.URLs)}
	}
	for i := range c.URLs {
		all = append(all, i)
	}
	return all
}

// ReadAll reads all pages of each process as one more client. It tries for a minute at most.
func (c *Clients) ReadAll(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, time.Minute)
	defer cancel()
	time.Sleep(maxStaleness) // then each page has all writes
	for process := range c.URLs {
		client := c.newClient(c.clients, process)
		defer client.http.CloseIdleConnections()
		for after, last := int64(0), false; !last; {
			op := Operation{Client: client.number, Kind: List, After: after, Limit: 100}
			client.send(ctx, &op)
			switch {
			case op.Code == "" && ctx.Err() == nil:
				time.Sleep(10 * time.Millisecond) // the process may be starting
			case op.Code != ok:
				return fmt.Errorf("process %d returned no page after %d: %s", process, after, cmp.Or(op.Code, "no response"))
			case len(op.Page) > 0:
				after = op.Page[len(op.Page)-1].ID
			default:
				last = true
			}
		}
	}
	return nil
}

// A client sends one request after the other, each to a random one of its processes.
type client struct {
	*Clients
	number    int
	processes []int
	random    *rand.Rand
	http      *http.Client
}

func (c *Clients) newClient(number int, processes ...int) client {
	seed := c.Seed + uint64(c.History.Len()) // else each Run would send the same requests
	return client{c, number, processes, rand.New(rand.NewPCG(seed, uint64(number))), &http.Client{Timeout: 15 * time.Second, Transport: &http.Transport{}}}
}

// next sends a random request.
func (c client) next(ctx context.Context) {
	op, a, o := c.draw()
	c.send(ctx, &op)
	c.mu.Lock()
	defer c.mu.Unlock()
	switch {
	case op.Kind == List:
	case op.Kind == Add && !op.Keyed && op.Code != ok:
		a.uses = usesOfAnimal // its id remains unknown
	case op.Code == "":
		a.uses += costOfUnknown
	case op.Code == ok && op.Kind == Add:
		a.id, c.last = op.PetID, max(c.last, op.PetID)
	case op.Code == ok && op.Kind == Order:
		o.id = op.OrderID
	}
}

// draw returns a random request for a page, or for a random animal and its order.
func (c client) draw() (Operation, *animal, *order) {
	c.mu.Lock()
	defer c.mu.Unlock()
	i := c.drawIndex()
	if a := c.animals[i]; a == nil || a.uses >= usesOfAnimal {
		c.count++
		c.animals[i] = &animal{number: c.count, keyed: c.random.IntN(2) == 0}
	}
	a := c.animals[i]
	if isBeingAdded := a.sent && !a.keyed && a.id == 0; isBeingAdded || c.onlyLists() || c.random.IntN(6) == 0 {
		after := max(0, c.last/10-c.random.Int64N(4)) * 10 // few pages, so that they are cached
		filter := []string{"", "", "available", "pending", "sold"}[c.random.IntN(5)]
		return Operation{Client: c.number, Kind: List, After: after, Limit: 5 + 5*c.random.IntN(2), Filter: filter}, nil, nil
	}
	a.uses++
	op := Operation{Client: c.number, Animal: a.number, PetID: a.id}
	if a.id == 0 || a.keyed && c.random.IntN(8) == 0 {
		a.sent = true
		op.Kind, op.Keyed, op.PetID = Add, a.keyed, 0
		op.Variant = []string{"available", ""}[a.number%2]
		if a.keyed && c.random.IntN(8) == 0 {
			op.Variant = []string{"", "available"}[a.number%2]
		}
		return op, a, nil
	}
	return c.drawUse(op, a)
}

// drawIndex returns a random index of animals. Half of those of processes that share a file are for the clients of one process
// each, whose pages are exact for them.
func (c client) drawIndex() int {
	i := c.random.IntN(len(c.animals))
	if c.History.SharedFile && i < len(c.animals)/2 {
		return i - i%len(c.URLs) + c.processes[0]
	}
	return i
}

// onlyLists reports whether the process gets no writes now: its own commits would invalidate its pages, and hide that it
// misses those of another process.
func (c client) onlyLists() bool {
	return c.History.SharedFile && int(c.History.now()/(3*maxStaleness))%(3*len(c.URLs)) == c.processes[0]
}

// drawUse returns a random request for an animal that has been added.
func (c client) drawUse(op Operation, a *animal) (Operation, *animal, *order) {
	kind := []Kind{Get, Order, Order, Deliver, Cancel, Cancel, GetOrder}[c.random.IntN(7)]
	if kind == Order && len(a.orders) < maxOrders {
		a.orders = append(a.orders, &order{number: len(a.orders), keyed: c.random.IntN(2) == 0})
		op.Kind, op.Order, op.Keyed = Order, len(a.orders)-1, a.orders[len(a.orders)-1].keyed
		return op, a, a.orders[op.Order]
	}
	if len(a.orders) > 0 {
		o := a.orders[c.random.IntN(len(a.orders))]
		switch {
		case kind == Order && o.keyed:
			op.Kind, op.Order, op.Keyed = Order, o.number, true
			return op, a, o
		case kind != Order && o.id != 0:
			op.Kind, op.Order, op.OrderID = kind, o.number, o.id
			return op, a, o
		}
	}
	op.Kind = Get
	return op, a, nil
}

// A record is an animal, an order or an error in a response.
type record struct {
	ID     int64  `json:"id"`
	PetID  int64  `json:"petId"`
	Name   string `json:"name"`
	Status any    `json:"status"`
	Code   string `json:"code"`
}

func (r record) status() string {
	text, _ := r.Status.(string)
	return text
}

// send sends the request of an operation and adds it to the history with its response. While none of the processes is to
// be used, it waits until ctx ends.
func (c client) send(ctx context.Context, op *Operation) {
	var method, path, body, key string
	switch op.Kind {
	case Add:
		method, path, key = http.MethodPost, "/v1/pets", fmt.Sprintf("animal-%d", op.Animal)
		body = fmt.Sprintf(`{"name":"animal-%d-%s","categoryId":1}`, op.Animal, op.Variant)
		if op.Variant != "" {
			body = fmt.Sprintf(`{"name":"animal-%d-%s","categoryId":1,"status":%q}`, op.Animal, op.Variant, op.Variant)
		}
	case Get:
		method, path = http.MethodGet, fmt.Sprintf("/v1/pets/%d", op.PetID)
	case Order:
		method, path, body, key = http.MethodPost, "/v1/store/orders", fmt.Sprintf(`{"petId":%d}`, op.PetID), fmt.Sprintf("order-%d-%d", op.Animal, op.Order)
	case GetOrder:
		method, path = http.MethodGet, fmt.Sprintf("/v1/store/orders/%d", op.OrderID)
	case Deliver, Cancel:
		method, path = http.MethodPost, fmt.Sprintf("/v1/store/orders/%d/%s", op.OrderID, op.Kind)
	case List:
		method, path = http.MethodGet, fmt.Sprintf("/v1/pets?after=%d&limit=%d", op.After, op.Limit)
		if op.Filter != "" {
			path += "&status=" + op.Filter
		}
	}
	if !op.Keyed {
		key = ""
	}
	url := ""
	for url == "" {
		if ctx.Err() != nil {
			return
		}
		op.Process = c.processes[c.random.IntN(len(c.processes))]
		if url = c.URLs[op.Process](); url == "" {
			time.Sleep(time.Millisecond)
		}
	}
	op.Call = c.History.now()
	status, header, response, err := c.do(method, url+path, body, key)
	op.Return = c.History.now()
	if errors.Is(err, syscall.ECONNREFUSED) {
		return // no process got the request
	}
	op.Replayed = header.Get("Idempotency-Replayed") == "true"
	c.read(op, status, response, err)
	c.History.add(*op)
}

// read reads the response of an operation. 503 and no response leave its outcome unknown.
func (c client) read(op *Operation, status int, response []byte, err error) {
	var one record
	var page []record
	switch {
	case err != nil || status == http.StatusServiceUnavailable:
		return
	case op.Kind == List && status == http.StatusOK:
		err = json.Unmarshal(response, &page)
	default:
		err = json.Unmarshal(response, &one)
	}
	switch {
	case err != nil:
		op.Code = err.Error()
	case status >= http.StatusBadRequest:
		op.Code = cmp.Or(one.Code, fmt.Sprintf("status %d without a code", status))
	default:
		op.Code = ok
	}
	if op.Code != ok {
		return
	}
	switch op.Kind {
	case List:
		for _, r := range page {
			number, variant, _ := strings.Cut(strings.TrimPrefix(r.Name, "animal-"), "-")
			animal, err := strconv.Atoi(number)
			if err != nil {
				op.Code = "the page has the name " + r.Name
				return
			}
			op.Page = append(op.Page, Item{animal, variant, r.ID, r.status()})
		}
	case Add, Get:
		number, variant, _ := strings.Cut(strings.TrimPrefix(one.Name, "animal-"), "-")
		if number != strconv.Itoa(op.Animal) || op.Kind == Add && variant != op.Variant {
			op.Code = "the response has the name " + one.Name
			return
		}
		op.Variant = variant
		op.PetID, op.PetStatus = one.ID, one.status()
	case Order, GetOrder, Deliver, Cancel:
		if one.PetID != op.PetID {
			op.Code = fmt.Sprintf("the response has the petId %d", one.PetID)
			return
		}
		op.OrderID, op.OrderStatus = one.ID, one.status()
	}
}

// do sends a request.
func (c client) do(method, url, body, key string) (int, http.Header, []byte, error) {
	// The client has a timeout. A request is never given up before, because it may have been done.
	request, err := http.NewRequestWithContext(context.Background(), method, url, strings.NewReader(body))
	if err != nil {
		return 0, nil, nil, err
	}
	request.GetBody = nil // else the transport repeats requests with a key by itself
	request.Header.Set("Authorization", "Bearer "+c.Key)
	request.Header.Set("Content-Type", "application/json")
	if key != "" {
		request.Header.Set("Idempotency-Key", key)
	}
	response, err := c.http.Do(request)
	if err != nil {
		return 0, nil, nil, err
	}
	defer response.Body.Close()
	text, err := io.ReadAll(response.Body)
	return response.StatusCode, response.Header, text, err
}
