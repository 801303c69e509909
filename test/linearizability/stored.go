package linearizability

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"math"
	"slices"
	"time"

	"golang.org/x/sys/unix"
)

// Monotonic returns the time of the monotonic clock. The injected disk of the fault tests uses the same
// clock.
func Monotonic() int64 {
	var now unix.Timespec
	_ = unix.ClockGettime(unix.CLOCK_MONOTONIC, &now) // fails only for an invalid clock
	return now.Nano()
}

// AtTheEnd is a time after all operations, for CheckStored.
const AtTheEnd = math.MaxInt64

// CheckStored judges the history together with the rows of the store in db. Each write that was acknowledged until the
// time acknowledged must be stored. Each write that was sent until the time sent may be stored. Nothing else may be
// stored. Both are times of Monotonic.
func (h *History) CheckStored(ctx context.Context, db *sql.DB, acknowledged, sent int64, page string) ([]error, error) {
	past := h.until(acknowledged, sent)
	position, err := past.readStoredChanges(ctx, db)
	if err != nil {
		return nil, err
	}
	for _, kind := range []Kind{List, ListOrders} {
		items, err := stored(ctx, db, kind)
		if err != nil {
			return nil, err
		}
		past.operations = append(past.operations, Operation{
			Kind: kind, Query: Query{Limit: noLimit}, Call: never - 1, Return: never - 1,
			Response: Response{Code: ok, Items: items, Position: position},
		})
	}
	categories, err := storedCategories(ctx, db)
	if err != nil {
		return nil, err
	}
	past.operations = append(past.operations, Operation{
		Kind: ListCategories, Query: Query{After: firstPage[ListCategories], Limit: noLimit}, Call: never - 1, Return: never - 1,
		Response: Response{Code: ok, Categories: categories, Position: position},
	})
	problems, err := past.Check(page)
	wrong, countErr := CheckCounts(ctx, db)
	return append(problems, wrong...), errors.Join(err, countErr)
}

// until is the method at for times of Monotonic. This goroutine may be interrupted between two readings of the clock. So
// acknowledged may become an earlier time, and sent a later one: a write is never wrongly taken for lost or invented.
func (h *History) until(acknowledged, sent int64) *History {
	before, since, after := Monotonic(), h.now(), Monotonic()
	return h.at(since-time.Duration(after-min(after, acknowledged)), since-time.Duration(before-min(before, sent)))
}

// Lost returns the number of animals that the store in db does not have, although they were acknowledged
// until a time of Monotonic and no client has tried to remove them.
func (h *History) Lost(ctx context.Context, db *sql.DB, acknowledged int64) (lost int, err error) {
	h = h.until(acknowledged, AtTheEnd)
	pets, err := stored(ctx, db, List)
	there := map[recordKey]bool{}
	for _, item := range pets {
		there[recordKey{item.Shelf, item.Animal, noOrder}] = true
	}
	for _, op := range h.operations {
		there[recordKey{op.Shelf, op.Animal, noOrder}] = there[recordKey{op.Shelf, op.Animal, noOrder}] || op.Kind == Remove
	}
	for _, op := range h.operations {
		for n := range op.Items {
			if key := (recordKey{op.Shelf, op.Animal + n, noOrder}); op.Kind == Add && !there[key] {
				there[key] = true // each animal counts once
				lost++
			}
		}
	}
	return lost, err
}

// stored returns all animals, or all orders, in a store.
func stored(ctx context.Context, db *sql.DB, kind Kind) (items []Item, err error) {
	query := "SELECT id, 0, name, category_id, status FROM pets ORDER BY id"
	if kind == ListOrders {
		query = "SELECT id, pet_id, '', 0, status FROM orders ORDER BY id"
	}
	rows, err := db.QueryContext(ctx, query)
	if err != nil {
		return nil, err
	}
	defer rows.Close()
	for rows.Next() {
		var r record
		if err := rows.Scan(&r.ID, &r.PetID, &r.Name, &r.CategoryID, &r.Status); err != nil {
			return nil, err
		}
		item, err := r.item()
		if err != nil {
			return nil, err
		}
		items = append(items, item)
	}
	return items, rows.Err()
}

// storedCategories returns all categories in a store.
func storedCategories(ctx context.Context, db *sql.DB) (categories []Category, err error) {
	rows, err := db.QueryContext(ctx, "SELECT id, name, available, pending, sold, none FROM categories ORDER BY id")
	if err != nil {
		return nil, err
	}
	defer rows.Close()
	for rows.Next() {
		var c Category
		n := &c.Counts
		if err := rows.Scan(&c.ID, &c.Name, &n[0], &n[1], &n[2], &n[3]); err != nil {
			return nil, err
		}
		n[4] = n[0] + n[1] + n[2] + n[3]
		categories = append(categories, c)
	}
	return categories, rows.Err()
}

// readStoredChanges reads the changes of the store in db, and returns its position. A restored store does not have the
// changes that clients have read about: then there are none to judge.
func (h *History) readStoredChanges(ctx context.Context, db *sql.DB) (position int64, err error) {
	var keptAfter int64
	if err := db.QueryRowContext(ctx, "SELECT position, kept_after FROM store").Scan(&position, &keptAfter); err != nil {
		return 0, err
	}
	if slices.ContainsFunc(h.operations, func(op Operation) bool { return op.Position != 0 && op.Position < keptAfter }) {
		return position, nil
	}
	rows, err := db.QueryContext(ctx, "SELECT seq, type, caller, records FROM changes ORDER BY seq")
	if err != nil {
		return 0, err
	}
	defer rows.Close()
	for rows.Next() {
		var change Change
		var records []byte
		err := rows.Scan(&change.Seq, &change.Type, &change.Caller, &records)
		if err == nil {
			err = change.decode(records)
		}
		if err != nil {
			return 0, err
		}
		h.Changes = append(h.Changes, change)
	}
	if n := int64(len(h.Changes)); n != position-keptAfter {
		return 0, errors.Join(rows.Err(), fmt.Errorf("the store has %d changes from %d to %d", n, keptAfter+1, position))
	}
	return position, rows.Err()
}

// miscounted selects the categories, and NULL for all animals, whose counts in the store differ from the animals. A category
// without animals has a row only if it has a name.
const miscounted = `WITH found AS (
		SELECT category_id, count(*) FILTER (WHERE status = 'available'), count(*) FILTER (WHERE status = 'pending'),
			count(*) FILTER (WHERE status = 'sold'), count(*) FILTER (WHERE status = '') FROM pets GROUP BY category_id
		UNION ALL
		SELECT NULL, count(*) FILTER (WHERE status = 'available'), count(*) FILTER (WHERE status = 'pending'),
			count(*) FILTER (WHERE status = 'sold'), count(*) FILTER (WHERE status = '') FROM pets),
	stored AS (
		SELECT id, available, pending, sold, none FROM categories WHERE name = '' OR available + pending + sold + none <> 0
		UNION ALL
		SELECT NULL, available, pending, sold, none FROM store)
	SELECT 'animals', f.* FROM (SELECT * FROM found EXCEPT SELECT * FROM stored) AS f
	UNION ALL
	SELECT 'counts', s.* FROM (SELECT * FROM stored EXCEPT SELECT * FROM found) AS s`

// CheckCounts returns a problem for each count in the store in db that differs from the animals. Other processes may
// write meanwhile.
func CheckCounts(ctx context.Context, db *sql.DB) (problems []error, err error) {
	rows, err := db.QueryContext(ctx, miscounted)
	if err != nil {
		return nil, err
	}
	defer rows.Close()
	for rows.Next() {
		var of string
		var category sql.NullInt64
		var n [4]int
		if err := rows.Scan(&of, &category, &n[0], &n[1], &n[2], &n[3]); err != nil {
			return nil, err
		}
		problems = append(problems, fmt.Errorf("the store has the %s %v of the category %v: animals and counts differ", of, n, category))
	}
	return problems[:min(len(problems), 10)], rows.Err()
}
