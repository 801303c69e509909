package linearizability

import (
	"path/filepath"
	"slices"
	"testing"
	"time"

	"example.com/petstore/internal/test/testkit"
	"example.com/petstore/test/harness"
)

func TestImpossibleOperationIsNamed(t *testing.T) {
	t.Parallel()
	h := NewHistory()
	h.add(added(1, 7, "sold").at(1, 2))
	h.add(Operation{Kind: List, Client: 3, Query: Query{Limit: 10}, Response: Response{Code: ok}}.at(4, 5))
	problems, err := h.Check("")
	const want = "shelf 1: /v1/pets?after=0&limit=10: animal 1.0 with the id 7 missing by client 3 " +
		"from 4ms to 5ms is impossible after 1 other operations"
	if err != nil || len(problems) != 1 || problems[0].Error() != want {
		t.Errorf("got the problems %v and %v, want %q", problems, err, want)
	}
}

// TestJudgeDecidesWhateverIsReadAtOnce judges reads of an animal by many clients while its order is
// delivered. Some read that it is pending, some that it is sold. A search that tried every set of reads
// before the delivery would try 2³⁰ sets.
func TestJudgeDecidesWhateverIsReadAtOnce(t *testing.T) {
	t.Parallel()
	for status, possible := range map[string]bool{"sold": true, "available": false} {
		h := NewHistory()
		h.add(added(1, 1, "available").at(1, 2))
		h.add(ordered(1, 1, 1).at(3, 4))
		h.add(delivered.at(5, 200))
		for i := range 30 {
			h.add(got(1, 1, []string{"pending", "sold"}[i%2]).at(6+i, 100+i))
		}
		h.add(got(1, 1, status).at(190, 195))
		problems, err := h.Check("")
		if err != nil || (len(problems) == 0) != possible {
			t.Errorf("%s: got the problems %v and %v, want that it is possible: %t", status, problems, err, possible)
		}
	}
}

// TestJudgeDecidesWhateverHasAnUnknownOutcome judges an order of an animal after 31 corrections without a
// response. The order is possible only if the first correction, to sold, did not happen before it.
func TestJudgeDecidesWhateverHasAnUnknownOutcome(t *testing.T) {
	t.Parallel()
	h := NewHistory()
	h.add(added(1, 1, "available").at(1, 2))
	h.add(Operation{Kind: Correct, Shelf: 1, ID: 1, Patch: Patch{Status: new("sold")}}.at(3, 4))
	for i := range 30 {
		h.add(Operation{Kind: Correct, Shelf: 1, ID: 1, Patch: Patch{Variant: new(i)}}.at(5+i, 6+i))
	}
	h.add(ordered(1, 1, 1).at(80, 85))
	h.add(delivered.at(90, 95))
	problems, err := h.Check("")
	testkit.Equal(t, "problems", 0, len(problems), err)
}

// added returns the addition of the first animal of a shelf.
func added(shelf int, id int64, status string) Operation {
	return Operation{Kind: Add, Shelf: shelf, Pets: []Fields{{Status: status}}, Response: Response{Code: ok, Items: []Item{pet(shelf, id, status)}}}
}

// got returns a read of the animal.
func got(shelf int, id int64, status string) Operation {
	return Operation{Kind: Get, Shelf: shelf, ID: id, Response: Response{Code: ok, Items: []Item{pet(shelf, id, status)}}}
}

// ordered returns an order of the animal. The order has orderID as its id and as its number.
func ordered(shelf int, id, orderID int64) Operation {
	response := Response{Code: ok, Items: []Item{orderItem(orderID, id, "placed")}}
	return Operation{Kind: Order, Shelf: shelf, ID: id, Order: int(orderID), Response: response}
}

// ended returns a delivery or cancellation of the order.
func ended(kind Kind, shelf int, id, orderID int64) Operation {
	status := map[Kind]string{Deliver: "delivered", Cancel: "cancelled"}[kind]
	response := Response{Code: ok, Items: []Item{orderItem(orderID, id, status)}}
	return Operation{Kind: kind, Shelf: shelf, ID: id, Order: int(orderID), OrderID: orderID, Response: response}
}

var delivered = ended(Deliver, 1, 1, 1)

func pet(shelf int, id int64, status string) Item {
	return Item{Shelf: shelf, ID: id, Fields: Fields{Status: status}}
}

func orderItem(id, petID int64, status string) Item {
	return Item{ID: id, PetID: petID, Fields: Fields{Status: status}}
}

// corrected returns a correction of the animal to a status.
func corrected(shelf int, id int64, status string) Operation {
	op := got(shelf, id, status)
	op.Kind, op.Patch.Status = Correct, &status
	return op
}

// listed returns a page of animals, or of orders.
func listed(kind Kind, q Query, items ...Item) Operation {
	q.Limit = max(q.Limit, 10)
	return Operation{Kind: kind, Query: q, Response: Response{Code: ok, Items: items}}
}

// named returns a request for the name of the category 2 when its only animal is sold. An empty name is removed.
func named(name string) Operation {
	response := Response{Code: ok, Categories: []Category{soldIn(2, name)}}
	op := Operation{Kind: NameCategory, Shelf: 1, ID: 2, Name: name, Response: response}
	if name == "" {
		op.Kind, op.Categories = UnnameCategory, nil
	}
	return op.at(9, 10)
}

// soldIn returns a category with one animal, which is sold.
func soldIn(id int64, name string) Category {
	return Category{ID: id, Name: name, Counts: [5]int{2: 1, 4: 1}}
}

// categories returns a page of categories.
func categories(all ...Category) Operation {
	q := Query{After: firstPage[ListCategories], Limit: 10}
	return Operation{Kind: ListCategories, Query: q, Response: Response{Code: ok, Categories: all}}.at(11, 12)
}

// at returns the operation with a call and an end, in milliseconds.
func (op Operation) at(call, end int) Operation {
	op.Call, op.Return = time.Duration(call)*time.Millisecond, time.Duration(end)*time.Millisecond
	return op
}

// code returns the operation with the code of an error, or "".
func (op Operation) code(code string) Operation {
	op.Response = Response{Code: code}
	return op
}

// with returns the operation with other items.
func (op Operation) with(items ...Item) Operation {
	op.Items = items
	return op
}

// keyed returns the operation with an idempotency key, and whether it was replayed.
func (op Operation) keyed(replayed bool) Operation {
	op.Keyed, op.Replayed = true, replayed
	return op
}

// where returns the operation after change was called with it.
func (op Operation) where(change func(*Operation)) Operation {
	change(&op)
	return op
}

// A judgement is a history, and whether it is possible. In each history an animal is added, ordered and
// delivered. operations are the other operations.
type judgement struct {
	operations []Operation
	possible   bool
	uncertain  bool // Uncertain of the History
}

func possible(operations ...Operation) judgement {
	return judgement{operations: operations, possible: true}
}
func impossible(operations ...Operation) judgement { return judgement{operations: operations} }

// TestJudgeFindsWhatIsImpossible judges short histories. Each differs from a possible history in one thing.
func TestJudgeFindsWhatIsImpossible(t *testing.T) {
	t.Parallel()
	add, buy, sell := added(1, 1, "available").keyed(false).at(1, 2), ordered(1, 1, 1).keyed(false).at(3, 4), delivered.at(5, 6)
	add2, sold := added(2, 2, "available").at(2, 3), pet(1, 1, "sold")
	list, orders := listed(List, Query{}, sold).at(7, 8), listed(ListOrders, Query{}, orderItem(1, 1, "delivered")).at(7, 8)
	get, unknown2 := got(1, 1, "sold").at(7, 8), ordered(2, 2, 2).code("").at(4, 5)
	available2, pending := pet(2, 2, "available"), pet(1, 1, "pending")
	remove2 := Operation{Kind: Remove, Shelf: 2, ID: 2, Response: Response{Code: ok}}.at(9, 10)
	correct2 := corrected(2, 2, "sold").at(9, 10)
	filtered := func(op Operation, statuses string, items ...Item) Operation {
		op.Query.Statuses = statuses
		return op.with(items...)
	}
	limited := func(op Operation, limit int, more bool) Operation {
		op.Query.Limit, op.More = limit, more
		return op
	}
	ofPet := func(petID int64, items ...Item) Operation {
		return listed(ListOrders, Query{PetID: petID}, items...).at(7, 8)
	}
	type tally struct{ available, pending, sold, none, total int }
	counted := func(shelf int, n tally) Operation {
		response := Response{Code: ok, Counts: [5]int{n.available, n.pending, n.sold, n.none, n.total}}
		return Operation{Kind: Count, Shelf: shelf, Query: Query{Category: int64(2 * shelf)}, Response: response}.at(7, 8)
	}
	fields := func(shelf, animal int, id int64, f Fields) Item {
		return Item{Shelf: shelf, Animal: animal, ID: id, Fields: f}
	}
	two := Operation{Kind: Add, Shelf: 3, Keyed: true, Pets: []Fields{{Status: "sold"}, {Category: 1}}, Response: Response{Code: ok}}.
		with(fields(3, 0, 3, Fields{Status: "sold"}), fields(3, 1, 4, Fields{Category: 1})).at(2, 3)
	for name, test := range map[string]judgement{
		"nothing else":                    possible(),
		"repeated":                        possible(add.keyed(true).at(11, 12)),
		"repeated, not marked":            impossible(add.at(11, 12)),
		"repeated without a key":          impossible(add.where(func(o *Operation) { o.Keyed, o.Replayed = false, true }).at(11, 12)),
		"repeated with another status":    impossible(add.keyed(true).with(sold).at(11, 12)),
		"added with another status":       impossible(add2.with(pet(2, 2, "sold"))),
		"added first, and replayed":       impossible(add2.keyed(true)),
		"key reused for another animal":   possible(add.where(func(o *Operation) { o.Pets = []Fields{{}} }).code(keyReused).at(11, 12)),
		"key reused for the same animal":  impossible(add.code(keyReused).at(11, 12)),
		"several at once":                 possible(two),
		"several at once, repeated":       possible(two, two.keyed(true).at(5, 6)),
		"several, of which one is listed": impossible(two, list.with(sold, two.Items[0])),
		"several, perhaps at once":        possible(two.code(""), list.with(sold, two.Items[0], two.Items[1])),
		"internal error":                  impossible(add2.code("internal_error")),

		"order of another animal":          impossible(ended(Cancel, 1, 1, 1).where(func(o *Operation) { o.Kind, o.ID = GetOrder, 2 }).at(7, 8)),
		"sold twice":                       impossible(ordered(1, 1, 2).at(13, 14)),
		"second order refused":             possible(ordered(1, 1, 2).code(petNotAvailable).at(13, 14)),
		"order repeated":                   possible(buy.keyed(true).at(13, 14)),
		"order repeated, not marked":       impossible(buy.at(13, 14)),
		"order repeated, with another id":  impossible(buy.keyed(true).with(orderItem(9, 1, "placed")).at(13, 14)),
		"order repeated, with its status":  impossible(buy.keyed(true).with(orderItem(1, 1, "delivered")).at(13, 14)),
		"order of an animal that is there": impossible(add2, ordered(2, 2, 2).code(petNotAvailable).at(9, 10)),
		"outcome that is not known":        possible(ordered(1, 1, 2).code("").at(13, 14)),
		"delivery before it was ordered":   impossible(ended(Deliver, 1, 1, 2).at(15, 16)),
		"delivered again":                  possible(sell.at(15, 16)),
		"delivered, with another status":   impossible(sell.with(orderItem(1, 1, "placed")).at(15, 16)),
		"delivered, and a conflict":        impossible(sell.code(stateConflict).at(15, 16)),
		"delivered, and cancelled":         impossible(ended(Cancel, 1, 1, 1).at(15, 16)),
		"delivered, and not cancelled":     possible(ended(Cancel, 1, 1, 1).code(stateConflict).at(15, 16)),

		"get":                            possible(get),
		"get of an older status":         impossible(got(1, 1, "pending").at(17, 18)),
		"get of another name":            impossible(get.with(fields(1, 0, 1, Fields{Variant: 1, Status: "sold"}))),
		"get of an order's older status": impossible(buy.where(func(o *Operation) { o.Kind, o.Keyed, o.OrderID = GetOrder, false, 1 }).at(13, 14)),
		"get of an animal that is gone":  impossible(add2, remove2, got(2, 2, "available").at(200, 201)),
		"reads that all fail":            impossible(slices.Repeat([]Operation{get.code("")}, 100)...),

		"corrected":                       possible(add2, correct2, got(2, 2, "sold").at(11, 12)),
		"corrected, and as before":        impossible(add2, correct2, got(2, 2, "available").at(11, 12)),
		"corrected, perhaps":              possible(add2, correct2.code(""), got(2, 2, "available").at(11, 12)),
		"corrected while it is ordered":   impossible(corrected(1, 1, "available").at(9, 10)),
		"not corrected, as it is ordered": possible(corrected(1, 1, "available").code(petOrdered).at(9, 10)),
		"not corrected, but not ordered":  impossible(add2, correct2.code(petOrdered)),
		"corrected as it is":              possible(corrected(1, 1, "sold").at(9, 10)),
		"corrected as it is, refused":     impossible(corrected(1, 1, "sold").code(petOrdered).at(9, 10)),
		"corrected, another version": impossible(add2, correct2.where(func(o *Operation) {
			o.Match = &Fields{Variant: 7, Status: "available"}
		})),
		"not corrected, another version": possible(add2, correct2.where(func(o *Operation) {
			o.Match = &Fields{Variant: 7}
		}).code(preconditionFailed)),
		"not corrected, but its version": impossible(add2, correct2.where(func(o *Operation) {
			o.Match = &Fields{Status: "available"}
		}).code(preconditionFailed)),
		"another version, but as it is": possible(corrected(1, 1, "sold").where(func(o *Operation) { o.Match = &Fields{Variant: 7} }).at(9, 10)),
		"two corrections of one version": impossible(
			add2,
			correct2.where(func(o *Operation) { o.Match = &Fields{Status: "available"} }),
			corrected(2, 2, "pending").where(func(o *Operation) { o.Match = &Fields{Status: "available"} }).at(9, 10),
		),
		"moved to the other category": possible(
			add2,
			corrected(2, 2, "available").where(func(o *Operation) { o.Patch = Patch{Category: new(1)} }).
				with(fields(2, 0, 2, Fields{Category: 1, Status: "available"})).at(4, 5),
			counted(2, tally{}),
		),

		"removed":              possible(add2, remove2, got(2, 2, "").code(petNotFound).at(11, 12), remove2.code(petNotFound).at(13, 14)),
		"not found, but there": impossible(add2, remove2.code(petNotFound)),
		"not found, by a proxy": possible(
			add2, remove2.code(petNotFound).where(func(o *Operation) { o.Proxied = true }), got(2, 2, "").code(petNotFound).at(11, 12),
		),
		"not found, by a proxy, after another removal": possible(
			add2, remove2.at(9, 12), remove2.code(petNotFound).where(func(o *Operation) { o.Proxied = true }).at(10, 13),
		),
		"not found, by a proxy, and there": impossible(
			add2, remove2.code(petNotFound).where(func(o *Operation) { o.Proxied = true }), got(2, 2, "available").at(11, 12),
		),
		"removed, and there":             impossible(add2, remove2, got(2, 2, "available").at(11, 12)),
		"removed twice":                  impossible(add2, remove2, remove2.at(13, 14)),
		"removed and sold":               impossible(add2, remove2, ordered(2, 2, 2).at(9, 12)),
		"removed, and its order refused": possible(add2, remove2, ordered(2, 2, 2).code(petNotFound).at(9, 12)),
		"removed while it is sold":       impossible(remove2.where(func(o *Operation) { o.Shelf, o.ID = 1, 1 })),
		"not removed, as it is sold":     possible(remove2.where(func(o *Operation) { o.Shelf, o.ID = 1, 1 }).code(petOrdered)),
		"not removed, but not ordered":   impossible(add2, remove2.code(petOrdered)),
		"not removed, another version":   possible(add2, remove2.where(func(o *Operation) { o.Match = &Fields{} }).code(preconditionFailed)),
		"removed after it was cancelled": possible(add2, ordered(2, 2, 2).at(4, 5), ended(Cancel, 2, 2, 2).at(6, 7), remove2,
			ended(Cancel, 2, 2, 2).at(11, 12)),
		"removed, and its addition again": possible(add2.keyed(false), remove2, add2.keyed(true).at(11, 12)),
		"removed, and corrected":          impossible(add2, remove2, correct2.at(11, 12)),
		"removed, and listed":             impossible(add2, remove2, list.with(sold, available2).at(11, 12)),
		"removed, and not listed":         possible(add2, remove2, list.at(11, 12)),

		"counted":                     possible(counted(1, tally{sold: 1, total: 1})),
		"counted without it":          impossible(counted(1, tally{})),
		"counted by its older status": impossible(counted(1, tally{pending: 1, total: 1})),
		"counted, perhaps":            possible(add2.code(""), counted(2, tally{available: 1, total: 1})),
		"counted half of an addition": impossible(two.code(""), counted(3, tally{none: 1, total: 1})),
		"counted what was removed":    impossible(add2, remove2, counted(2, tally{available: 1, total: 1}).at(11, 12)),
		"not added, and counted":      impossible(add2.code("unavailable"), counted(2, tally{available: 1, total: 1})),
		"not added, and listed":       impossible(add2.code("unavailable"), list.with(sold, available2)),
		"not added, and not counted":  possible(add2.code("unavailable"), counted(2, tally{})),
		"not added, perhaps, and there": {
			operations: []Operation{add2.code("unavailable"), list.with(sold, available2)}, possible: true, uncertain: true,
		},

		"named":                       possible(named("Dogs"), categories(soldIn(2, "Dogs"))),
		"named, with other numbers":   impossible(named("Dogs").where(func(o *Operation) { o.Categories = []Category{{ID: 2, Name: "Dogs"}} })),
		"named, and without the name": impossible(named("Dogs"), categories(soldIn(2, ""))),
		"named, and later not found":  impossible(named("Dogs"), named("").code(categoryNotFound).at(11, 12)),
		"named, perhaps":              possible(named("Dogs").code(""), categories(soldIn(2, "Dogs"))),
		"named, perhaps not":          possible(named("Dogs").code(""), categories(soldIn(2, ""))),
		"named by two at once":        possible(named("Dogs"), named("Cats"), categories(soldIn(2, "Dogs"))),
		"named by one after another":  impossible(named("Dogs"), named("Cats").at(13, 14), categories(soldIn(2, "Dogs")).at(15, 16)),
		"name that nobody gave":       impossible(categories(soldIn(2, "Dogs"))),
		"name removed":                possible(named("Dogs"), named("").at(11, 12), categories(soldIn(2, "")).at(13, 14)),
		"name removed, and listed":    impossible(named("Dogs"), named("").at(11, 12), categories(soldIn(2, "Dogs")).at(13, 14)),
		"name removed by two at once": impossible(named("Dogs"), named("").at(11, 12), named("").at(11, 12)),
		"no name to remove":           possible(named("").code(categoryNotFound)),
		"no name, but removed":        impossible(named("")),
		"named while it is removed":   possible(named("Dogs"), named("").at(10, 12), named("Cats").at(11, 13), categories(soldIn(2, "")).at(14, 15)),
		"category without an animal": possible(
			named("Cats").where(func(o *Operation) { o.ID, o.Categories = 3, []Category{{ID: 3, Name: "Cats"}} }),
			categories(soldIn(2, ""), Category{ID: 3, Name: "Cats"}),
		),
		"categories refused":          impossible(categories().code("invalid_parameter")),
		"categories without it":       impossible(categories()),
		"categories before it":        possible(categories().where(func(o *Operation) { o.Query.After = 2 })),
		"categories before an animal": possible(add2, categories(soldIn(2, "")).where(func(o *Operation) { o.Query.Limit, o.More = 1, true })),
		"categories without a link":   impossible(add2, categories(soldIn(2, "")).where(func(o *Operation) { o.Query.Limit = 1 })),
		"categories, an empty one":    impossible(categories(soldIn(2, ""), Category{ID: 3})),
		"categories, in disorder":     impossible(categories(soldIn(2, ""), soldIn(-1, ""))),

		"one id for two animals":    impossible(added(2, 1, "available").at(2, 3)),
		"id that falls":             impossible(added(2, 0, "available").at(9, 10)),
		"id of an order that falls": impossible(add2, ordered(2, 2, 0).at(7, 8)),
		"id at the same time":       possible(added(2, 3, "").at(7, 9), added(3, 2, "").at(9, 10)),
		"id of an order after pages": impossible(
			add2, unknown2, orders.with(orders.Items[0], orderItem(9, 2, "placed")), ordered(1, 1, 3).at(11, 12),
		),
		"list":                           possible(list),
		"list refused":                   impossible(list.code("missing_api_key")),
		"list unavailable":               possible(list.code("unavailable")),
		"list without it":                impossible(list.with()),
		"list with its old status":       impossible(list.with(pending)),
		"list without one that was seen": impossible(added(2, 2, "").at(7, 20), list.with(sold, pet(2, 2, "")).at(9, 10), list.at(11, 12)),
		"filtered list":                  possible(filtered(list, "sold", sold)),
		"filtered list without it":       impossible(filtered(list, "sold")),
		"filtered list of others":        possible(filtered(list, "none,pending")),
		"filtered by several":            impossible(filtered(list, "available,sold")),
		"not of its filter":              impossible(filtered(list, "available", sold)),
		"of its category":                possible(listed(List, Query{Category: 2}, sold).at(7, 8)),
		"of its category, without it":    impossible(listed(List, Query{Category: 2}).at(7, 8)),
		"of another category":            impossible(listed(List, Query{Category: 4}, sold).at(7, 8)),
		"by id":                          possible(add2, listed(List, Query{IDs: []int64{2, 9}}, available2).at(7, 8)),
		"by id, without it":              impossible(add2, listed(List, Query{IDs: []int64{2, 9}}).at(7, 8)),
		"by id, another":                 impossible(listed(List, Query{IDs: []int64{2}}, sold).at(7, 8)),
		"newest":                         possible(add2, listed(List, Query{Newest: true}, available2, sold).at(7, 8)),
		"newest without the newest":      impossible(add2, listed(List, Query{Newest: true}, sold).at(7, 8)),
		"newest before the newest":       possible(add2, listed(List, Query{Newest: true, After: 2}, sold).at(7, 8)),
		"newest, ascending":              impossible(add2, listed(List, Query{Newest: true}, sold, available2).at(7, 8)),
		"more than its limit":            impossible(limited(list, 0, false)),
		"full page without a link":       impossible(add2, limited(list, 1, false)),
		"full page with a link":          possible(add2, limited(list, 1, true)),
		"full page beside a later id":    possible(add2, limited(list, 1, true).at(10, 11)),
		"newest, full page with a link":  possible(add2, limited(listed(List, Query{Newest: true}, available2), 1, true).at(7, 8)),
		"page with a link, not full":     impossible(limited(list, 10, true)),
		"list of orders":                 possible(orders),
		"list of orders without it":      impossible(orders.with()),
		"list of orders, older status":   impossible(orders.with(orderItem(1, 1, "placed"))),
		"list of orders, other animal":   impossible(add2, orders.with(orderItem(1, 2, "delivered"))),
		"list of orders, unknown animal": impossible(orders.with(orders.Items[0], orderItem(2, 3, "placed"))),
		"list of orders, not ordered":    impossible(orders.with(orders.Items[0], orderItem(2, 1, "placed"))),
		"list of orders, perhaps":        possible(add2, unknown2, orders.with(orders.Items[0], orderItem(2, 2, "placed"))),
		"list of orders before it":       possible(orders.with().at(2, 3)),
		"orders of an animal":            possible(add2, ofPet(2)),
		"orders of an animal without it": impossible(ofPet(1)),
		"orders of an animal, others":    impossible(add2, ofPet(2, orders.Items[0])),
		"orders of a status":             possible(filtered(orders, "placed")),
		"orders of a status without it":  impossible(filtered(orders, "delivered")),
		"orders of another status":       impossible(filtered(orders, "placed", orders.Items[0])),
		"orders refused":                 impossible(orders.code("invalid_parameter")),
		"orders that are there twice":    impossible(orders.with(orders.Items[0], orders.Items[0])),
		"order of nobody":                impossible(add2, orders.with(orders.Items[0], orderItem(7, 2, "placed"))),
		"orders of one request": impossible(
			add2, unknown2, orders.with(orders.Items[0], orderItem(2, 2, "placed"), orderItem(3, 2, "placed")),
		),
		"order that nobody can end": impossible(add2, unknown2, orders.with(orders.Items[0], orderItem(2, 2, "delivered"))),
		"absent after it was seen": impossible(
			added(2, 2, "available").keyed(false).code("").at(50, 60),
			added(2, 2, "").keyed(false).at(10, 200),
			list.with(sold, pet(2, 2, "")).at(15, 20), list.at(30, 40),
		),
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			h := NewHistory()
			h.Uncertain = test.uncertain
			for _, op := range append([]Operation{add, buy, sell}, test.operations...) {
				h.add(op)
			}
			path := filepath.Join(t.TempDir(), "history.ndjson.gz")
			testkit.Check(t, h.Save(path))
			loaded, err := Load(path)
			testkit.Check(t, err)
			problems, err := loaded.Check("")
			problems = append(problems, loaded.checkOutcomes()...)
			if err != nil || (len(problems) == 0) != test.possible {
				t.Errorf("got the problems %v and %v, want that it is possible: %t", problems, err, test.possible)
			}
		})
	}
}

// TestStoreIsJudgedAsOfATime judges several stores at several times of one history. In the history an animal
// is added, ordered from 2.5 s to 3.5 s, its category named from 4.5 s to 5.5 s, and the order delivered from 6.5 s to 7 s.
func TestStoreIsJudgedAsOfATime(t *testing.T) {
	t.Parallel()
	const pending, placed, dogs = "(1, 'animal-1-0-0', 2, 'pending')", "(1, 1, 'placed')", "; INSERT INTO names VALUES ('Dogs')"
	for name, test := range map[string]struct {
		pets, orders string        // the stored rows
		at           time.Duration // in seconds since the beginning of the history
		possible     bool
	}{
		"as acknowledged":          {pending, placed, 4, true},
		"while it was ordered":     {"(1, 'animal-1-0-0', 2, 'available')", "", 3, true},
		"not yet sent":             {pending, placed, 2, false},
		"order lost":               {"(1, 'animal-1-0-0', 2, 'available')", "", 4, false},
		"all lost":                 {"", "", 4, false},
		"delivery not sent":        {"(1, 'animal-1-0-0', 2, 'sold')", "(1, 1, 'delivered')", 4, false},
		"animal and order differ":  {"(1, 'animal-1-0-0', 2, 'available')", placed, 3, false},
		"another name":             {"(1, 'animal-1-0-1', 2, 'pending')", placed, 4, false},
		"another category":         {"(1, 'animal-1-0-0', 3, 'pending')", placed, 4, false},
		"another animal":           {pending + ", (2, 'animal-2-0-0', 4, '')", placed, 4, false},
		"an animal of the test":    {pending + ", (2, 'Rex', 4, '')", placed, 4, true},
		"the animal twice":         {pending + ", (2, 'animal-1-0-0', 2, 'available')", placed, 4, false},
		"sold twice":               {pending, placed + ", (2, 1, 'placed')", 4, false},
		"all that will be ordered": {pending, placed, 3, true},
		"named":                    {pending, placed + dogs, 5, true},
		"named, but not yet":       {pending, placed + dogs, 4, false},
		"named by nobody":          {pending, placed + "; INSERT INTO names VALUES ('Cats')", 5, false},
		"the name lost":            {pending, placed, 6, false},
	} {
		db := harness.OpenSQLite(t, filepath.Join(t.TempDir(), "pets.db"))
		_, err := db.ExecContext(t.Context(), `CREATE TABLE pets (id, name, category_id, status); CREATE TABLE orders (id, pet_id, status);
			CREATE TABLE changes (seq, type, caller, records); CREATE TABLE names (name);
			CREATE VIEW categories AS SELECT category_id AS id, COALESCE((SELECT name FROM names), '') AS name,
				count(*) FILTER (WHERE status = 'available') AS available, count(*) FILTER (WHERE status = 'pending') AS pending,
				count(*) FILTER (WHERE status = 'sold') AS sold, count(*) FILTER (WHERE status = '') AS none FROM pets GROUP BY category_id;
			CREATE VIEW store AS SELECT 0 AS position, 0 AS kept_after, COALESCE(sum(available), 0) AS available,
				COALESCE(sum(pending), 0) AS pending, COALESCE(sum(sold), 0) AS sold, COALESCE(sum(none), 0) AS none FROM categories`)
		testkit.Check(t, err)
		for table, rows := range map[string]string{"pets": test.pets, "orders": test.orders} {
			if rows != "" {
				_, err := db.ExecContext(t.Context(), "INSERT INTO "+table+" VALUES "+rows)
				testkit.Check(t, err)
			}
		}
		h := NewHistory()
		h.begin = h.begin.Add(-time.Hour)
		begin := Monotonic() - time.Hour.Nanoseconds()
		h.add(added(1, 1, "available").at(0, 1000))
		h.add(ordered(1, 1, 1).at(2500, 3500))
		h.add(named("Dogs").where(func(o *Operation) { o.Categories[0].Counts = [5]int{1: 1, 4: 1} }).at(4500, 5500))
		h.add(delivered.at(6500, 7000))
		moment := begin + (test.at * time.Second).Nanoseconds()
		problems, err := h.CheckStored(t.Context(), db, moment, moment, "")
		testkit.Check(t, err)
		if (len(problems) == 0) != test.possible {
			t.Errorf("%s: got the problems %v, want that it is possible: %t", name, problems, test.possible)
		}
	}
}
