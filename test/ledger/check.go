package ledger

import (
	"context"
	"database/sql"
	"fmt"
	"net/http"
)

// A Result is what became of the writes of a period.
type Result struct {
	Name         string // of the period
	Acknowledged int
	Refused      int
	Unknown      int      // attempts
	Lost         int      // acknowledged writes that are not in the store
	Doubled      int      // records that are in the store more than once, or animals that were sold twice
	Problems     []string // other differences, such as a refused write that is in the store, or a valid one that was refused
}

// Err returns an error with the numbers and the first problems if something was lost or doubled or
// differs otherwise.
func (r Result) Err() error {
	if r.Lost == 0 && r.Doubled == 0 && len(r.Problems) == 0 {
		return nil
	}
	return fmt.Errorf("%d lost, %d doubled, %d problems: %q", r.Lost, r.Doubled, len(r.Problems), r.Problems[:min(len(r.Problems), 10)])
}

type pet struct {
	id       int64
	category int64
	status   string
}

type order struct {
	id     int64
	status string
}

// A checker compares the writes with the rows of the store.
type checker struct {
	results []Result
	pets    map[string][]pet // by name
	names   map[int64]string // of the pets, by id
	orders  map[int64][]order
	placed  map[int64][]Write // attempts to order a pet, by its id
	sent    map[int64][]Write // attempts to deliver an order, by its id
}

// Check compares the writes with the store in db, which nobody changes meanwhile, and returns
// the results of all periods.
func (l *Ledger) Check(ctx context.Context, db *sql.DB) ([]Result, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	c := &checker{
		results: make([]Result, len(l.periods)), pets: map[string][]pet{}, names: map[int64]string{}, orders: map[int64][]order{},
		placed: map[int64][]Write{}, sent: map[int64][]Write{},
	}
	if err := c.load(ctx, db); err != nil {
		return nil, err
	}
	names := map[string]bool{}
	for i, name := range l.periods {
		c.results[i].Name = name
	}
	for _, w := range l.writes {
		c.count(w)
		switch w.Kind {
		case Pet:
			names[w.Name] = true
			c.checkPet(w)
		case Order:
			c.placed[w.PetID] = append(c.placed[w.PetID], w)
		case Delivery:
			c.sent[w.OrderID] = append(c.sent[w.OrderID], w)
			if w.Outcome == Refused { // nobody cancels an order, and a repeated delivery changes nothing
				c.problem(w, "the delivery of the order %d was refused with %d, though it is valid", w.OrderID, w.Status)
			}
		}
	}
	for name := range c.pets {
		if !names[name] {
			c.problem(Write{}, "the pet %s was not sent", name)
		}
	}
	c.checkOrders()
	return c.results, nil
}

func (c *checker) load(ctx context.Context, db *sql.DB) error {
	var name, status string
	var p pet
	err := each(ctx, db, "SELECT id, name, category_id, coalesce(status, '') FROM pets", func() {
		p.status = status
		c.pets[name] = append(c.pets[name], p)
		c.names[p.id] = name
	}, &p.id, &name, &p.category, &status)
	if err != nil {
		return err
	}
	var o order
	var petID int64
	return each(ctx, db, "SELECT id, pet_id, status FROM orders ORDER BY id", func() {
		c.orders[petID] = append(c.orders[petID], o)
	}, &o.id, &petID, &o.status)
}

// each calls fn after each row of a query was scanned.
func each(ctx context.Context, db *sql.DB, query string, fn func(), columns ...any) error {
	rows, err := db.QueryContext(ctx, query)
	if err != nil {
		return err
	}
	defer rows.Close()
	for rows.Next() {
		if err := rows.Scan(columns...); err != nil {
			return err
		}
		fn()
	}
	return rows.Err()
}

func (c *checker) count(w Write) {
	r := &c.results[w.Period]
	r.Unknown += w.Unknowns
	switch w.Outcome {
	case Acknowledged:
		r.Acknowledged++
	case Refused:
		r.Refused++
	case Unknown:
	}
}

func (c *checker) problem(w Write, format string, args ...any) {
	r := &c.results[w.Period]
	r.Problems = append(r.Problems, fmt.Sprintf(format, args...))
}

func (c *checker) checkPet(w Write) {
	found := c.pets[w.Name]
	switch {
	case len(found) > 1:
		c.results[w.Period].Doubled++
	case w.Outcome == Acknowledged && (len(found) == 0 || found[0].id != w.PetID):
		c.results[w.Period].Lost++
	case w.Outcome == Refused && len(found) > 0:
		c.problem(w, "the pet %s was refused and is in the store", w.Name)
	case w.Outcome == Refused && !w.Invalid:
		c.problem(w, "the pet %s was refused, though it is valid", w.Name)
	case len(found) == 1 && found[0].category != category:
		c.problem(w, "the pet %s has the category %d, want %d", w.Name, found[0].category, category)
	}
}

// checkOrders checks the orders of all pets, and that pets and orders agree.
func (c *checker) checkOrders() {
	for petID, attempts := range c.placed {
		c.checkAttempts(petID, attempts)
	}
	for petID, orders := range c.orders {
		if len(c.placed[petID]) == 0 {
			c.problem(Write{}, "the order %d was not sent", orders[0].id)
		}
	}
	for name, found := range c.pets {
		for _, p := range found {
			want := "available"
			if orders := c.orders[p.id]; len(orders) > 0 {
				want = map[string]string{"placed": "pending", "delivered": "sold"}[orders[0].status]
			}
			if p.status != want {
				c.problem(Write{}, "the pet %s is %s, its order says %s", name, p.status, want)
			}
		}
	}
}

// checkAttempts checks the attempts to order a pet, and to deliver the order. An order is
// refused only because of another one, with 409.
func (c *checker) checkAttempts(petID int64, attempts []Write) {
	orders := c.orders[petID]
	acknowledged, unknown := 0, false
	for _, w := range attempts {
		unknown = unknown || w.Outcome == Unknown
		if w.Outcome == Refused && w.Status != http.StatusConflict {
			c.problem(w, "an order of the pet %d was refused with %d, though it is valid", petID, w.Status)
		}
		if w.Outcome != Acknowledged {
			continue
		}
		acknowledged++
		if len(orders) == 0 || orders[0].id != w.OrderID {
			c.results[w.Period].Lost++
			continue
		}
		c.checkDelivery(w, orders[0])
	}
	switch first := attempts[0]; {
	case len(orders) > 1, acknowledged > 1:
		c.results[first.Period].Doubled++
	case acknowledged > 0 || unknown:
	case len(orders) == 1:
		c.problem(first, "the pet %d was ordered, though all orders were refused", petID)
	default:
		c.problem(first, "all orders of the pet %d were refused, though nobody has ordered it", petID)
	}
}

func (c *checker) checkDelivery(w Write, o order) {
	acknowledged, unknown := false, false
	for _, delivery := range c.sent[o.id] {
		acknowledged = acknowledged || delivery.Outcome == Acknowledged
		unknown = unknown || delivery.Outcome == Unknown
		if delivery.Outcome == Acknowledged && o.status != "delivered" {
			c.results[delivery.Period].Lost++
		}
	}
	if o.status == "delivered" && !acknowledged && !unknown {
		c.problem(w, "the order %d was delivered, which nobody sent", o.id)
	}
}
