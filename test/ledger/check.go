package ledger

import (
	"context"
	"database/sql"
	"fmt"
)

// Differences are those between a store and the ledger.
type Differences struct {
	Lost     []string // steps that were acknowledged, and that the store has not reached
	Doubled  []string // animals that are in the store more than once, or were sold more than once
	Problems []string // others, such as a refused write that is in the store, or a response that no service may send
}

// Err returns an error with the numbers and the first differences, if there are any.
func (d Differences) Err() error {
	if len(d.Lost)+len(d.Doubled)+len(d.Problems) == 0 {
		return nil
	}
	first := func(texts []string) []string { return texts[:min(len(texts), 10)] }
	return fmt.Errorf("%d lost, %d doubled, %d problems: %q %q %q", len(d.Lost), len(d.Doubled), len(d.Problems), first(d.Lost), first(d.Doubled),
		first(d.Problems))
}

// Check compares the sales with the store in db. It must have what was acknowledged until one time,
// and may have what was sent until another.
func (l *Ledger) Check(ctx context.Context, db *sql.DB, acknowledged, sent int64) (d Differences, err error) {
	stored, err := load(ctx, db)
	if err != nil {
		return d, err
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	d.Problems = append(d.Problems, l.wrong...)
	for name, s := range l.sales {
		d.compare(s, stored[name], acknowledged, sent)
	}
	for name := range stored {
		if l.sales[name] == nil {
			d.Problems = append(d.Problems, "nobody has sent "+name)
		}
	}
	return d, nil
}

// compare adds the differences of a sale and the rows of its animal, one for each of its orders.
func (d *Differences) compare(s *sale, rows []row, acknowledged, sent int64) {
	reached := nothing
	if len(rows) > 1 {
		d.Doubled = append(d.Doubled, fmt.Sprintf("%s: %+v", s.name, rows))
		return
	}
	if len(rows) == 1 {
		r := rows[0]
		var agree bool
		known := func(step int) bool { return s.steps[step].acknowledged <= acknowledged } // its id, which a later attempt may replace
		if reached, agree = statuses[[2]string{r.status, r.orderStatus}]; !agree || r.category != s.category || known(added) && r.pet != s.pet ||
			reached >= ordered && known(ordered) && r.order != s.order || reached == ended && (r.orderStatus == "cancelled") != s.cancelled {
			d.Problems = append(d.Problems, fmt.Sprintf("%s: got %+v, want %+v", s.name, r, *s))
			return
		}
	}
	for n := added; n < steps; n++ {
		if s.steps[n].acknowledged <= acknowledged && n > reached {
			d.Lost = append(d.Lost, fmt.Sprintf("the step %d of %s", n, s.name))
		}
		if s.steps[n].sent > sent && n <= reached {
			d.Problems = append(d.Problems, fmt.Sprintf("the store has the step %d of %s, which was refused or not sent", n, s.name))
			return
		}
	}
}

// statuses are the steps of a sale by the statuses of its animal and order.
var statuses = map[[2]string]int{
	{"available", ""}: added, {"pending", "placed"}: ordered, {"sold", "delivered"}: ended, {"available", "cancelled"}: ended,
}

// A row is an animal and one of its orders, if it has any.
type row struct {
	pet, category, order int64
	status, orderStatus  string
}

// load returns the rows of a store by the names of the animals.
func load(ctx context.Context, db *sql.DB) (map[string][]row, error) {
	rows, err := db.QueryContext(ctx, `SELECT name, p.id, category_id, coalesce(p.status, ''), coalesce(o.id, 0), coalesce(o.status, '')
		FROM pets p LEFT JOIN orders o ON o.pet_id = p.id`)
	if err != nil {
		return nil, err
	}
	defer rows.Close()
	all := map[string][]row{}
	for rows.Next() {
		var name string
		var r row
		if err := rows.Scan(&name, &r.pet, &r.category, &r.status, &r.order, &r.orderStatus); err != nil {
			return nil, err
		}
		all[name] = append(all[name], r)
	}
	return all, rows.Err()
}
