package linearizability

import (
	"cmp"
	"context"
	"fmt"
	"math"
	"math/rand/v2"
	"net/http"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"
)

// Clients send random requests, many of them for the same animals at once.
type Clients struct {
	History *History
	// URLs has a function for each process. It returns the address of the process, or "" while clients must
	// not use it.
	URLs []func() string
	// Keys has the API keys with the ids 1, 2 and so on. Requests with the same idempotency key have the same API key.
	Keys []string
	Seed uint64
	// Pause is how long each client waits between its requests.
	Pause time.Duration
	// OnlyLists is whether the clients only list.
	OnlyLists bool
	// OnlyReads is whether the clients only read for now. The service gets no writes then, which would make it look for the
	// commits of commands beside it.
	OnlyReads atomic.Bool

	mu      sync.Mutex
	shelves [8]*shelf // the shelves that clients use now

	lastAnimal, lastOrder int64              // the greatest ids in responses
	lists                 map[Kind]Operation // the last request for a page of each list
	pages                 sync.Map           // the cachedPage of each path
	tags                  sync.Map           // the ETags of each version, and the version of each ETag
}

// A version is an animal with its fields.
type version struct {
	id int64
	Fields
}

// A cachedPage is the response to a read that clients have cached.
type cachedPage struct {
	etag string
	Response
}

// A shelf is what the clients know of the animals of one shelf, see Operation. Clients.mu guards it.
type shelf struct {
	number   int
	uses     int
	variants int // the number of variants of names that were used
	animals  [animalsOfShelf]*animal
}

type animal struct {
	number int
	added  *addition
	id     int64
	seen   []Fields
	orders []*order
}

// An addition is a request that adds some animals.
type addition struct {
	first int
	pets  []Fields
	keyed bool
	sent  bool
}

type order struct {
	number int
	keyed  bool
	id     int64
}

// shelves is the number of shelves of all clients, so that no number is used twice.
var shelves atomic.Int64

// usesOfShelf is how many requests a shelf gets before a new shelf replaces it. A request without a known outcome
// counts costOfUnknown more, because the time of the judge grows exponentially with the number of such requests.
const usesOfShelf, costOfUnknown = 48, 6

// Start sends requests from n clients until stop is called. stop waits for the responses.
func (c *Clients) Start(ctx context.Context, n int) (stop func()) {
	ctx, cancel := context.WithCancel(ctx)
	var running sync.WaitGroup
	running.Go(func() { c.Run(ctx, n, math.MaxInt) })
	return func() { cancel(); running.Wait() }
}

// During sends requests from n clients for a duration, and returns the writes that succeeded.
func (c *Clients) During(ctx context.Context, d time.Duration, n int) Operations {
	begin := time.Now()
	ctx, cancel := context.WithTimeout(ctx, d)
	defer cancel()
	c.Run(ctx, n, math.MaxInt)
	return c.History.Since(begin).Acknowledged(false)
}

// Run sends requests from n clients until ctx ends or the history has a number of operations. It waits for
// all responses.
func (c *Clients) Run(ctx context.Context, n, operations int) {
	c.lists = map[Kind]Operation{}
	var wait sync.WaitGroup
	for number := range n {
		wait.Go(func() {
			client := c.newClient(number, c.processes()...)
			defer client.http.CloseIdleConnections()
			for ctx.Err() == nil && c.History.Len() < operations {
				client.next(ctx)
				time.Sleep(c.Pause)
			}
		})
	}
	wait.Wait()
}

// processes returns all processes.
func (c *Clients) processes() (all []int) {
	for i := range c.URLs {
		all = append(all, i)
	}
	return all
}

// ReadAll reads all pages of the lists of each process, as one more client, and then all changes. It tries for a minute
// at most.
func (c *Clients) ReadAll(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, time.Minute)
	defer cancel()
	time.Sleep(maxAge) // after that, each page has all writes
	for process := range c.URLs {
		client := c.newClient(-1, process)
		defer client.http.CloseIdleConnections()
		for _, list := range []Kind{List, ListOrders, ListCategories} {
			if err := client.readAll(ctx, list); err != nil {
				return fmt.Errorf("process %d: %w", process, err)
			}
		}
	}
	return c.readChanges(ctx)
}

// readAll reads all pages of a list.
func (c client) readAll(ctx context.Context, list Kind) error {
	for after := firstPage[list]; ; {
		op := Operation{Client: c.number, Kind: list, Query: Query{After: after, Limit: 100}}
		c.send(ctx, &op)
		switch {
		case (op.Code == "" || op.Code == unavailable) && ctx.Err() == nil:
			time.Sleep(10 * time.Millisecond) // the process may be starting
		case op.Code != ok:
			return fmt.Errorf("no page (%s) after %d: %s", list, after, cmp.Or(op.Code, "no response"))
		case len(op.Items) > 0:
			after = op.Items[len(op.Items)-1].ID
		case len(op.Categories) > 0:
			after = op.Categories[len(op.Categories)-1].ID
		default:
			return nil
		}
	}
}

// A client sends one request after the other, each to a random process of its processes.
type client struct {
	*Clients
	number    int
	processes []int
	random    *rand.Rand
	http      *http.Client
}

func (c *Clients) newClient(number int, processes ...int) client {
	seed := c.Seed + uint64(c.History.Len()) // otherwise each Run would send the same requests
	return client{
		c, number, processes, rand.New(rand.NewPCG(seed, uint64(number))),
		&http.Client{Timeout: 15 * time.Second, Transport: &http.Transport{}},
	}
}

// chance returns true with a probability of 1/n.
func (c client) chance(n int) bool { return c.random.IntN(n) == 0 }

// next sends a random request.
func (c client) next(ctx context.Context) {
	op, s, o := c.draw()
	c.send(ctx, &op)
	isUnknown := op.Code == "" || op.Code == unavailable && c.History.Uncertain
	if isUnknown {
		time.Sleep(50 * time.Millisecond) // the process may have ended
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	switch {
	case op.onlyReads() && op.Kind != Get:
	case op.Kind == Add && !op.Keyed && op.Code != ok:
		if s.animals[op.Animal].added.sent = isUnknown; isUnknown {
			s.uses = usesOfShelf // the id of the animal remains unknown
		}
	case isUnknown:
		s.uses += costOfUnknown
	case op.Code == ok && op.Kind == Order:
		o.id, c.lastOrder = op.Items[0].ID, max(c.lastOrder, op.Items[0].ID)
	case op.Code == ok && (op.Kind == Add || op.Kind == Get || op.Kind == Correct):
		for i, item := range op.Items {
			a := s.animals[op.Animal+i]
			a.id, c.lastAnimal = item.ID, max(c.lastAnimal, item.ID)
			if len(op.Pets) <= 1 { // a response with several animals has no ETag of an animal
				a.seen = append(a.seen[max(0, len(a.seen)-1):], item.Fields)
			}
		}
	}
}

// draw returns a random request for a page, or for a random animal of a shelf and one of its orders.
func (c client) draw() (Operation, *shelf, *order) {
	c.mu.Lock()
	defer c.mu.Unlock()
	i := c.random.IntN(len(c.shelves))
	if s := c.shelves[i]; s == nil || s.uses >= usesOfShelf {
		c.shelves[i] = c.newShelf()
	}
	s := c.shelves[i]
	a := s.animals[c.random.IntN(animalsOfShelf)]
	isBeingAdded := a.added.sent && !a.added.keyed && a.id == 0
	onlyReads := c.OnlyReads.Load()
	if isBeingAdded || c.OnlyLists || onlyReads && a.id == 0 || c.chance(6) {
		return c.drawList(), nil, nil
	}
	op := Operation{Client: c.number, Shelf: s.number, Animal: a.number, ID: a.id}
	if c.chance(10) {
		op.Kind, op.Animal, op.ID = Count, 0, 0
		if op.Query.Category = c.category(s); c.chance(4) {
			op.Shelf, op.Query.Category = 0, -int64(c.random.IntN(2)) // all animals, or those of the commands
		}
		return op, s, nil
	}
	if onlyReads {
		return c.drawRead(op, a), s, nil
	}
	s.uses++
	if !c.History.Proxied && c.chance(8) { // a proxy may send a PUT twice, and another request may succeed between both
		op.Kind, op.Animal, op.ID = UnnameCategory, 0, c.category(s)
		if !c.chance(3) {
			op.Kind, op.Name = NameCategory, fmt.Sprintf("category-%d-%d", op.ID, c.random.IntN(3))
		}
		return op, s, nil
	}
	if a.id == 0 || a.added.keyed && c.chance(10) {
		a.added.sent = true
		op.Kind, op.Keyed, op.Animal, op.ID, op.Pets = Add, a.added.keyed, a.added.first, 0, a.added.pets
		if a.added.keyed && c.chance(8) {
			op.Pets = slices.Clone(op.Pets)
			op.Pets[0].Variant = 1000 // another request with the same key
		}
		return op, s, nil
	}
	op, o := c.drawUse(op, s, a)
	return op, s, o
}

func (c client) newShelf() *shelf {
	s := &shelf{number: int(shelves.Add(1))}
	for first, rest := 0, animalsOfShelf; rest > 0; {
		added := &addition{first: first, keyed: c.chance(2)}
		for range 1 + c.random.IntN(rest) {
			added.pets = append(added.pets, Fields{Category: c.random.IntN(2), Status: []string{"available", "available", ""}[c.random.IntN(3)]})
			s.animals[first] = &animal{number: first, added: added}
			first, rest = first+1, rest-1
		}
	}
	return s
}

// category returns a random category of a shelf.
func (c client) category(s *shelf) int64 { return int64(2*s.number + c.random.IntN(2)) }

// drawList returns a random request for a page. Half of the requests repeat the last one, so that several
// equal requests are sent at once and the service answers them from its cache or with 304.
func (c client) drawList() Operation {
	op := Operation{Client: c.number, Kind: List}
	q, last, statuses := Query{Limit: 5 + 5*c.random.IntN(2)}, c.lastAnimal, []string{"available", "none", "pending", "sold"}
	switch {
	case c.chance(5):
		op.Kind = ListCategories
	case c.chance(2):
		op.Kind, last, statuses = ListOrders, c.lastOrder, []string{"cancelled", "delivered", "placed"}
	}
	if before, sent := c.lists[op.Kind]; sent && c.chance(2) {
		before.Client = c.number
		return before
	}
	if op.Kind == ListCategories {
		op.Query = c.drawCategories(q)
		c.lists[op.Kind] = op
		return op
	}
	q.Canonical, q.Newest = c.chance(2), c.chance(4)
	q.After = max(0, last/10-c.random.Int64N(4)) * 10
	if q.Newest {
		q.After = max(0, last/10+2-c.random.Int64N(4)) * 10 * c.random.Int64N(2) // half of the pages begin at the newest record
	}
	if c.chance(2) {
		from := c.random.IntN(len(statuses))
		q.Statuses = strings.Join(statuses[from:min(len(statuses), from+1+c.random.IntN(2))], ",")
	}
	switch s := c.shelves[c.random.IntN(len(c.shelves))]; {
	case s == nil:
	case op.Kind == ListOrders && c.chance(3):
		q.PetID = s.animals[0].id // 0 if the animal has no id yet, which means all orders
	case op.Kind == List && c.chance(16):
		q.Category = -1 // the category of the animals of the commands
	case op.Kind == List && c.chance(4):
		q.Category = c.category(s)
	case op.Kind == List && c.chance(6):
		for _, a := range s.animals {
			if a.id != 0 {
				q.IDs = append(q.IDs, a.id)
			}
		}
	}
	if c.chance(8) {
		q.After, q.Limit = 0, 20
	}
	if q.IDs != nil {
		q.After, q.Limit = 0, len(q.IDs)
	}
	op.Query = q
	c.lists[op.Kind] = op
	return op
}

// drawCategories returns the query of a random page of categories. Some begin with the first category, others near a shelf.
func (c client) drawCategories(q Query) Query {
	q.Canonical, q.After = c.chance(2), firstPage[ListCategories]
	if s := c.shelves[c.random.IntN(len(c.shelves))]; s != nil && !c.chance(4) {
		q.After = c.category(s) - 1 - int64(c.random.IntN(4))
	} else if c.chance(2) {
		q.Limit = 20
	}
	return q
}

// drawUse returns a random request for an animal that has been added.
func (c client) drawUse(op Operation, s *shelf, a *animal) (Operation, *order) {
	kind := []Kind{Get, Order, Order, Deliver, Cancel, Cancel, GetOrder, Correct, Correct, Remove}[c.random.IntN(10)]
	if (kind == Correct || kind == Remove) && len(a.seen) > 0 && c.chance(2) {
		op.Match = new(a.seen[c.random.IntN(len(a.seen))])
	}
	switch {
	case kind == Correct:
		op.Kind, op.Patch = Correct, c.drawPatch(s)
		return op, nil
	case kind == Remove && c.chance(2):
		op.Kind = Remove
		return op, nil
	case kind == Order && len(a.orders) < maxOrders:
		a.orders = append(a.orders, &order{number: len(a.orders), keyed: c.chance(2)})
		op.Kind, op.Order, op.Keyed = Order, len(a.orders)-1, a.orders[len(a.orders)-1].keyed
		return op, a.orders[op.Order]
	}
	op.Match = nil
	if len(a.orders) > 0 && kind != Get && kind != GetOrder {
		o := a.orders[c.random.IntN(len(a.orders))]
		switch {
		case kind == Order && o.keyed:
			op.Kind, op.Order, op.Keyed = Order, o.number, true
			return op, o
		case (kind == Deliver || kind == Cancel) && o.id != 0:
			op.Kind, op.Order, op.OrderID = kind, o.number, o.id
			return op, o
		}
	}
	return c.drawRead(op, a), nil
}

// drawRead returns a request for the animal, or for one of its orders.
func (c client) drawRead(op Operation, a *animal) Operation {
	op.Kind = Get
	if len(a.orders) > 0 && c.chance(2) {
		if o := a.orders[c.random.IntN(len(a.orders))]; o.id != 0 {
			op.Kind, op.Order, op.OrderID = GetOrder, o.number, o.id
		}
	}
	return op
}

// drawPatch returns a random correction. It may change nothing.
func (c client) drawPatch(s *shelf) (p Patch) {
	if c.chance(2) {
		s.variants++
		p.Variant = new(s.variants)
	}
	if c.chance(3) {
		p.Category = new(c.random.IntN(2))
	}
	if c.chance(3) {
		p.Status = new([]string{"available", "", "pending", "sold"}[c.random.IntN(4)])
	}
	return p
}
