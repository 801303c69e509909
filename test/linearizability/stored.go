package linearizability

import (
	"context"
	"database/sql"
	"math"
	"strings"
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
	for _, kind := range []Kind{List, ListOrders} {
		items, err := stored(ctx, db, kind)
		if err != nil {
			return nil, err
		}
		past.operations = append(past.operations, Operation{
			Kind: kind, Query: Query{Limit: noLimit}, Call: never - 1, Return: never - 1, Response: Response{Code: ok, Items: items},
		})
	}
	return past.Check(page)
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

// stored returns the animals of the clients, or all orders, in a store.
func stored(ctx context.Context, db *sql.DB, kind Kind) (items []Item, err error) {
	query := "SELECT id, 0, name, category_id, COALESCE(status, '') FROM pets ORDER BY id"
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
		if r.PetID == 0 && !strings.HasPrefix(r.Name, "animal-") {
			continue // the test itself has added this animal
		}
		item, err := r.item()
		if err != nil {
			return nil, err
		}
		items = append(items, item)
	}
	return items, rows.Err()
}
