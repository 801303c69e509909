package linearizability

import (
	"cmp"
	"context"
	"fmt"
	"math/rand/v2"
	"net/http"
	"sync"
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

	lastAnimal, lastOrder int64              // the greatest ids
	lists                 map[Kind]Operation // the last request for a page of each list
	pages                 sync.Map           // of cachedPage, by path
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
	c.clients, c.lists = n, map[Kind]Operation{}
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

// ReadAll reads all pages of both lists of each process as one more client. It tries for a minute at most.
func (c *Clients) ReadAll(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, time.Minute)
	defer cancel()
	time.Sleep(maxStaleness) // then each page has all writes
	for process := range c.URLs {
		client := c.newClient(c.clients, process)
		defer client.http.CloseIdleConnections()
		for _, list := range []Kind{List, ListOrders} {
			if err := client.readAll(ctx, list); err != nil {
				return fmt.Errorf("process %d: %w", process, err)
			}
		}
	}
	return nil
}

// readAll reads all pages of a list.
func (c client) readAll(ctx context.Context, list Kind) error {
	for after := int64(0); ; {
		op := Operation{Client: c.number, Kind: list, After: after, Limit: maxRange}
		c.send(ctx, &op)
		switch {
		case op.Code == "" && ctx.Err() == nil:
			time.Sleep(10 * time.Millisecond) // the process may be starting
		case op.Code != ok:
			return fmt.Errorf("no page (%s) after %d: %s", list, after, cmp.Or(op.Code, "no response"))
		case len(op.Page) == 0:
			return nil
		default:
			after = op.Page[len(op.Page)-1].ID
		}
	}
}

// A client sends one request after the other, each to a random one of its processes.
type client struct {
	*Clients
	number    int
	processes []int
	random    *rand.Rand
	http      *http.Client
}

// A cachedPage is what clients cache of a page.
type cachedPage struct {
	etag  string
	items []Item
}

func (c *Clients) newClient(number int, processes ...int) client {
	seed := c.Seed + uint64(c.History.Len()) // else each Run would send the same requests
	return client{
		c, number, processes, rand.New(rand.NewPCG(seed, uint64(number))),
		&http.Client{Timeout: 15 * time.Second, Transport: &http.Transport{}},
	}
}

// next sends a random request.
func (c client) next(ctx context.Context) {
	op, a, o := c.draw()
	c.send(ctx, &op)
	c.mu.Lock()
	defer c.mu.Unlock()
	switch {
	case op.isList():
	case op.Kind == Add && !op.Keyed && op.Code != ok:
		a.uses = usesOfAnimal // its id remains unknown
	case op.Code == "":
		a.uses += costOfUnknown
	case op.Code == ok && op.Kind == Add:
		a.id, c.lastAnimal = op.PetID, max(c.lastAnimal, op.PetID)
	case op.Code == ok && op.Kind == Order:
		o.id, c.lastOrder = op.OrderID, max(c.lastOrder, op.OrderID)
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
		return c.drawList(), nil, nil
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

// drawList returns a random request for a page. Half are that of the client before, so that several are sent at once, and answered
// from the cache or with 304.
func (c client) drawList() Operation {
	op := Operation{Client: c.number, Kind: List, Limit: 5 + 5*c.random.IntN(2)}
	last, filters := c.lastAnimal, []string{"", "", "available", "pending", "sold"}
	if c.random.IntN(2) == 0 {
		op.Kind, last, filters = ListOrders, c.lastOrder, []string{"", "", "placed", "delivered", "cancelled"}
	}
	if before, sent := c.lists[op.Kind]; sent && c.random.IntN(2) == 0 {
		before.Client = c.number
		return before
	}
	op.Canonical = c.random.IntN(2) == 0
	op.After = max(0, last/10-c.random.Int64N(4)) * 10
	op.Filter = filters[c.random.IntN(len(filters))]
	if a := c.animals[c.random.IntN(len(c.animals))]; op.Kind == ListOrders && a != nil && c.random.IntN(3) == 0 {
		op.PetID = a.id // 0 if it has none yet: all orders
	}
	if c.random.IntN(8) == 0 {
		op.After, op.Limit = 0, 20
	}
	c.lists[op.Kind] = op
	return op
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
