package ledger

import (
	"context"
	"database/sql"
	"fmt"
)

// A Result is what became of the requests of a period.
type Result struct {
	Name                           string   // of the period
	Acknowledged, Refused, Unknown int      // requests
	Lost                           []string // steps that were acknowledged, and that the store has not reached
	Doubled                        []string // animals that are in the store more than once, or were sold more than once
	Problems                       []string // other differences, such as a refused write that is in the store
}

// Add adds another result.
func (r *Result) Add(other Result) {
	r.Acknowledged += other.Acknowledged
	r.Refused += other.Refused
	r.Unknown += other.Unknown
	r.Lost = append(r.Lost, other.Lost...)
	r.Doubled = append(r.Doubled, other.Doubled...)
	r.Problems = append(r.Problems, other.Problems...)
}

// Err returns an error with the numbers and the first differences, if there are any.
func (r Result) Err() error {
	if len(r.Lost)+len(r.Doubled)+len(r.Problems) == 0 {
		return nil
	}
	first := func(texts []string) []string { return texts[:min(len(texts), 10)] }
	return fmt.Errorf("%d lost, %d doubled, %d problems: %q %q %q", len(r.Lost), len(r.Doubled), len(r.Problems), first(r.Lost), first(r.Doubled), first(r.Problems))
}

// A pet is an animal in the store, with its orders.
type pet struct {
	id, category int64
	status       string
	orders       []order
}

type order struct {
	id     int64
	status string
}

// Check compares the sales with the store in db, as it must be at a time, and returns the results of
// all periods. Differences without a period, and Wrong, are in the first one.
func (l *Ledger) Check(ctx context.Context, db *sql.DB, at int64) ([]Result, error) {
	stored, err := load(ctx, db)
	if err != nil {
		return nil, err
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	results := append([]Result(nil), l.periods...)
	results[0].Problems = append(results[0].Problems, l.wrong...)
	for name, s := range l.sales {
		s.check(results, stored[name], at)
	}
	for name := range stored {
		if l.sales[name] == nil {
			results[0].Problems = append(results[0].Problems, "nobody has sent "+name)
		}
	}
	return results, nil
}

// check compares a sale with the animals of its name.
func (s *sale) check(results []Result, found []pet, at int64) {
	first := &results[s.steps[added].period]
	least, most := s.bounds(at)
	reached := nothing
	switch {
	case len(found) > 1:
		first.Doubled = append(first.Doubled, fmt.Sprintf("%s is in the store %d times", s.name, len(found)))
		return
	case len(found) == 1 && len(found[0].orders) > 1:
		first.Doubled = append(first.Doubled, fmt.Sprintf("%s was sold %d times", s.name, len(found[0].orders)))
		return
	case len(found) == 1:
		p := found[0]
		var cancelled, agree bool
		if reached, cancelled, agree = p.step(); !agree {
			first.Problems = append(first.Problems, fmt.Sprintf("%s does not agree with its order: %+v", s.name, p))
			return
		}
		if p.category != s.category || s.pet != 0 && p.id != s.pet || reached >= ordered && s.order != 0 && p.orders[0].id != s.order ||
			reached == ended && cancelled != s.cancelled {
			first.Problems = append(first.Problems, fmt.Sprintf("got %+v, want %+v", p, *s))
		}
	}
	for step := reached + 1; step <= least; step++ {
		r := &results[s.steps[step].period]
		r.Lost = append(r.Lost, fmt.Sprintf("the step %d of %s", step, s.name))
	}
	if reached > most {
		first.Problems = append(first.Problems, fmt.Sprintf("%s has reached the step %d, which was refused or not sent", s.name, reached))
	}
}

// step returns the step of the sale that the animal and its order are in, if they agree.
func (p pet) step() (step int, cancelled, agree bool) {
	state := p.status
	if len(p.orders) == 1 {
		state += " " + p.orders[0].status
	}
	switch state {
	case "available":
		return added, false, true
	case "pending placed":
		return ordered, false, true
	case "sold delivered":
		return ended, false, true
	case "available cancelled":
		return ended, true, true
	}
	return 0, false, false
}

// load returns the animals in a store by name.
func load(ctx context.Context, db *sql.DB) (map[string][]pet, error) {
	orders := map[int64][]order{}
	var o order
	var petID int64
	err := each(ctx, db, "SELECT id, pet_id, status FROM orders ORDER BY id", func() {
		orders[petID] = append(orders[petID], o)
	}, &o.id, &petID, &o.status)
	if err != nil {
		return nil, err
	}
	pets := map[string][]pet{}
	var name string
	var p pet
	err = each(ctx, db, "SELECT id, name, category_id, coalesce(status, '') FROM pets", func() {
		p.orders = orders[p.id]
		pets[name] = append(pets[name], p)
	}, &p.id, &name, &p.category, &p.status)
	return pets, err
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
