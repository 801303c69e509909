package linearizability

import (
	"path/filepath"
	"slices"
	"testing"
	"time"

	"example.com/petstore/internal/test/testkit"
)

func TestImpossibleOperationIsNamed(t *testing.T) {
	t.Parallel()
	h := NewHistory(false)
	h.add(Operation{Kind: Add, Animal: 1, Call: 1, Return: 2, Code: ok, PetID: 7})
	h.add(Operation{Kind: List, Client: 3, Limit: 10, Call: 4, Return: 5, Code: ok})
	problems, err := h.Check("")
	const want = "animal-1: /v1/pets?after=0&limit=10 (ok): animal-1 with the id 7 missing by client 3 from 4ns to 5ns is impossible after 1 other " +
		"operations"
	if err != nil || len(problems) != 1 || problems[0].Error() != want {
		t.Errorf("got the problems %v and %v, want %q", problems, err, want)
	}
}

// TestJudgeDecidesWhateverIsReadAtOnce judges reads of a pending and of a sold animal by many clients, while the order is delivered. There
// are 2³⁰ sets of them that may be first.
func TestJudgeDecidesWhateverIsReadAtOnce(t *testing.T) {
	t.Parallel()
	for status, possible := range map[string]bool{"sold": true, "available": false} {
		h := NewHistory(false)
		h.add(Operation{Kind: Add, Animal: 1, Call: 1, Return: 2, Code: ok, PetID: 1})
		h.add(Operation{Kind: Order, Animal: 1, Call: 3, Return: 4, Code: ok, PetID: 1, OrderID: 1, OrderStatus: "placed"})
		h.add(Operation{Kind: Deliver, Animal: 1, Call: 5, Return: 200, Code: ok, PetID: 1, OrderID: 1, OrderStatus: "delivered"})
		get := Operation{Kind: Get, Animal: 1, Code: ok, PetID: 1}
		for i := range 30 {
			get.Call, get.Return, get.PetStatus = time.Duration(6+i), time.Duration(100+i), []string{"pending", "sold"}[i%2]
			h.add(get)
		}
		get.Call, get.Return, get.PetStatus = 190, 195, status
		h.add(get)
		problems, err := h.Check("")
		if err != nil || (len(problems) == 0) != possible {
			t.Errorf("%s: got the problems %v and %v, want that it is possible: %t", status, problems, err, possible)
		}
	}
}

// TestJudgeFindsWhatIsImpossible judges short histories, each of which changes one thing of a possible one.
func TestJudgeFindsWhatIsImpossible(t *testing.T) {
	t.Parallel()
	const ms = time.Millisecond
	add := Operation{
		Kind: Add, Animal: 1, Variant: "available", Keyed: true, Call: 1 * ms, Return: 2 * ms, Code: ok, PetID: 1,
		PetStatus: "available",
	}
	order := Operation{
		Kind: Order, Animal: 1, Order: 1, Keyed: true, Call: 3 * ms, Return: 4 * ms, Code: ok, PetID: 1, OrderID: 1,
		OrderStatus: "placed",
	}
	deliver := Operation{Kind: Deliver, Animal: 1, Order: 1, Call: 5 * ms, Return: 6 * ms, Code: ok, PetID: 1, OrderID: 1, OrderStatus: "delivered"}
	add2 := Operation{Kind: Add, Animal: 2, Variant: "available", Call: 2 * ms, Return: 3 * ms, Code: ok, PetID: 2, PetStatus: "available"}
	pet := func(animal int, status string) Item {
		return Item{Animal: animal, Variant: "available", ID: int64(animal), Status: status}
	}
	ordered := func(id, petID int64, status string) Item { return Item{ID: id, PetID: petID, Status: status} }
	delivered := ordered(1, 1, "delivered")
	list := Operation{Kind: List, Limit: 10, Call: 7 * ms, Return: 8 * ms, Code: ok, Page: []Item{pet(1, "sold")}}
	get := Operation{Kind: Get, Animal: 1, Variant: "available", Call: 7 * ms, Return: 8 * ms, Code: ok, PetID: 1, PetStatus: "sold"}
	unknown2 := Operation{Kind: Order, Animal: 2, Call: 4 * ms, Return: 5 * ms, PetID: 2}
	orders := Operation{Kind: ListOrders, Limit: 10, Call: 7 * ms, Return: 8 * ms, Code: ok, Page: []Item{delivered}}
	with := func(op Operation, change func(*Operation)) Operation {
		change(&op)
		return op
	}
	at := func(op Operation, call, end time.Duration) Operation {
		op.Call, op.Return = call*ms, end*ms
		return op
	}
	later := func(op Operation, change func(*Operation)) Operation {
		return with(at(op, op.Call/ms+10, op.Return/ms+10), change)
	}
	page := func(op Operation, items ...Item) Operation {
		op.Page = items
		return op
	}
	other := func(op Operation) Operation {
		op.Process = 1
		return op
	}
	type ops = []Operation
	for name, test := range map[string]struct {
		added    ops // to add, order and deliver
		possible bool
		shared   bool
	}{
		"nothing else":             {nil, true, false},
		"repeated":                 {ops{later(add, func(o *Operation) { o.Replayed = true })}, true, false},
		"repeated, not marked":     {ops{at(add, 11, 12)}, false, false},
		"repeated without a key":   {ops{later(add, func(o *Operation) { o.Replayed, o.Keyed = true, false })}, false, false},
		"key in use":               {ops{with(add, func(o *Operation) { o.Code, o.PetID = "idempotency_in_progress", 0 })}, false, false},
		"sold twice":               {ops{later(order, func(o *Operation) { o.Order, o.OrderID = 2, 2 })}, false, false},
		"second order refused":     {ops{later(order, func(o *Operation) { o.Order, o.OrderID, o.Code = 2, 0, "pet_not_available" })}, true, false},
		"one id for two animals":   {ops{with(add, func(o *Operation) { o.Animal = 2 })}, false, false},
		"id that falls":            {ops{{Kind: Add, Animal: 2, Call: 9 * ms, Return: 10 * ms, Code: ok}}, false, false},
		"list refused":             {ops{with(list, func(o *Operation) { o.Code, o.Page = "missing_api_key", nil })}, false, false},
		"list":                     {ops{list}, true, false},
		"list without it":          {ops{page(list)}, false, false},
		"list with its old status": {ops{page(list, pet(1, "pending"))}, false, false},
		"list without one that was seen": {ops{
			{Kind: Add, Animal: 2, Call: 7 * ms, Return: 20 * ms, Code: ok, PetID: 2},
			at(page(list, pet(1, "sold"), Item{Animal: 2, ID: 2}), 9, 10),
			at(list, 11, 12),
		}, false, false},
		"filtered list without it": {ops{with(list, func(o *Operation) { o.Filter, o.Page = "sold", nil })}, false, false},
		"filtered list of others":  {ops{with(list, func(o *Operation) { o.Filter, o.Page = "pending", nil })}, true, false},
		"get of another animal": {ops{{
			Kind: Get, Animal: 1, Variant: "", Call: 7 * ms, Return: 8 * ms, Code: ok, PetID: 1,
			PetStatus: "sold",
		}}, false, false},
		"order of another animal": {ops{{
			Kind: GetOrder, Animal: 1, Order: 1, Call: 7 * ms, Return: 8 * ms, Code: ok, PetID: 2, OrderID: 1,
			OrderStatus: "delivered",
		}}, false, false},
		"another process within 100 ms": {ops{other(page(list))}, true, true},
		"another process after 100 ms":  {ops{other(at(page(list), 107, 108))}, false, true},
		"its process within 100 ms":     {ops{page(list)}, false, true},
		"its process, changed by others before": {ops{
			other(add2),
			{Kind: Order, Animal: 2, Order: 1, Call: 10 * ms, Return: 11 * ms, Code: ok, PetID: 2, OrderID: 2, OrderStatus: "placed"},
			at(page(list, pet(1, "sold"), pet(2, "available")), 20, 21),
		}, false, true},
		"its process, perhaps changed by others": {ops{
			add2, other(with(order, func(o *Operation) { o.Animal, o.PetID, o.Code = 2, 2, "" })), list,
		}, false, true},
		"its process, whose response is late": {ops{
			add2,
			{Kind: Order, Animal: 2, Call: 10 * ms, Return: 11 * ms, Code: ok, PetID: 2, OrderID: 2, OrderStatus: "placed", Process: 1},
			{Kind: Cancel, Animal: 2, Call: 30 * ms, Return: 60 * ms, Code: ok, PetID: 2, OrderID: 2, OrderStatus: "cancelled"},
			{Kind: Order, Animal: 2, Order: 1, Call: 35 * ms, Return: 36 * ms, Code: ok, PetID: 2, OrderID: 3, OrderStatus: "placed", Process: 1},
			{
				Kind: Deliver, Animal: 2, Order: 1, Call: 40 * ms, Return: 41 * ms, Code: ok, PetID: 2, OrderID: 3, OrderStatus: "delivered",
				Process: 1,
			},
			at(page(list, pet(1, "sold"), pet(2, "pending")), 61, 62),
		}, true, true},
		"one that is there twice": {ops{
			with(add2, func(o *Operation) { o.Code, o.PetID, o.Keyed = "", 0, true }),
			other(with(add2, func(o *Operation) { o.PetID, o.Keyed, o.Call, o.Return = 3, true, 3*ms, 4*ms })),
			at(page(list, pet(1, "sold"), pet(2, "available"), Item{Animal: 2, Variant: "available", ID: 3, Status: "available"}), 500, 501),
		}, false, true},
		"another name": {ops{other(page(list, Item{Animal: 1, Variant: "", ID: 1, Status: "sold"}))}, false, true},
		"id of an order that falls": {ops{
			add2,
			{Kind: Order, Animal: 2, Call: 7 * ms, Return: 8 * ms, Code: ok, PetID: 2, OrderID: 0, OrderStatus: "placed"},
		}, false, false},
		"another process after 100 ms, filtered": {ops{other(
			with(list, func(o *Operation) { o.Filter, o.Page, o.Call, o.Return = "sold", nil, 107*ms, 108*ms }))}, false, true},
		"an older status within 100 ms":   {ops{other(at(page(list, pet(1, "pending")), 105, 108))}, true, true},
		"an older status after 100 ms":    {ops{other(at(page(list, pet(1, "pending")), 107, 108))}, false, true},
		"not of its filter":               {ops{other(with(list, func(o *Operation) { o.Filter = "available" }))}, false, true},
		"more than its limit":             {ops{with(list, func(o *Operation) { o.Limit = 0 })}, false, false},
		"list of orders":                  {ops{orders}, true, false},
		"list of orders without it":       {ops{page(orders)}, false, false},
		"list of orders, an older status": {ops{page(orders, ordered(1, 1, "placed"))}, false, false},
		"list of orders, another animal":  {ops{add2, page(orders, ordered(1, 2, "delivered"))}, false, false},
		"list of orders, unknown animal":  {ops{page(orders, delivered, ordered(2, 3, "placed"))}, false, false},
		"list of orders, not ordered":     {ops{page(orders, delivered, ordered(2, 1, "placed"))}, false, false},
		"list of orders, perhaps ordered": {ops{
			add2, with(order, func(o *Operation) { o.Animal, o.PetID, o.OrderID, o.Code = 2, 2, 0, "" }),
			page(orders, delivered, ordered(2, 2, "placed")),
		}, true, false},
		"list of orders before it":              {ops{at(page(orders), 2, 3)}, true, false},
		"orders of an animal":                   {ops{add2, with(orders, func(o *Operation) { o.PetID, o.Page = 2, nil })}, true, false},
		"orders of an animal without it":        {ops{with(orders, func(o *Operation) { o.PetID, o.Page = 1, nil })}, false, false},
		"orders of an animal with others":       {ops{add2, with(orders, func(o *Operation) { o.PetID = 2 })}, false, false},
		"orders of a status":                    {ops{with(orders, func(o *Operation) { o.Filter, o.Page = "placed", nil })}, true, false},
		"orders of a status without it":         {ops{with(orders, func(o *Operation) { o.Filter, o.Page = "delivered", nil })}, false, false},
		"orders of another status":              {ops{with(orders, func(o *Operation) { o.Filter = "placed" })}, false, false},
		"orders, another process within 100 ms": {ops{other(page(orders))}, true, true},
		"orders, another process after 100 ms":  {ops{other(at(page(orders), 107, 108))}, false, true},
		"orders, its process within 100 ms":     {ops{page(orders)}, false, true},
		"orders, an older status within 100 ms": {ops{other(at(page(orders, ordered(1, 1, "placed")), 105, 108))}, true, true},
		"orders, an older status after 100 ms":  {ops{other(at(page(orders, ordered(1, 1, "placed")), 107, 108))}, false, true},
		"orders refused": {
			ops{with(orders, func(o *Operation) { o.Code, o.Page = "invalid_parameter", nil })},
			false,
			false,
		},
		"orders that descend, or are there twice": {ops{page(orders, delivered, delivered)}, false, false},
		"full page without a link, with more":     {ops{add2, with(list, func(o *Operation) { o.Limit = 1 })}, false, false},
		"full page with a link":                   {ops{add2, with(list, func(o *Operation) { o.Limit, o.More = 1, true })}, true, false},
		"page with a link that is not full":       {ops{with(list, func(o *Operation) { o.More = true })}, false, false},
		"order of nobody":                         {ops{add2, page(orders, delivered, ordered(7, 2, "placed"))}, false, true},
		"orders of one request": {
			ops{add2, unknown2, page(orders, delivered, ordered(2, 2, "placed"), ordered(3, 2, "placed"))},
			false, false,
		},
		"order that nobody can end": {ops{add2, unknown2, page(orders, delivered, ordered(2, 2, "delivered"))}, false, true},
		"id of an order after pages": {ops{
			add2, unknown2,
			page(orders, delivered, ordered(9, 2, "placed")),
			{Kind: Add, Animal: 3, Call: 9 * ms, Return: 10 * ms, Code: ok, PetID: 4},
			{Kind: Order, Animal: 3, Call: 11 * ms, Return: 12 * ms, Code: ok, PetID: 4, OrderID: 3, OrderStatus: "placed"},
		}, false, false},
		"an older status 100 ms after the first of two responses": {ops{
			with(deliver, func(o *Operation) { o.Return = 50 * ms }),
			other(at(page(list, pet(1, "pending")), 110, 111)),
		}, false, true},
		"its process, repeated by another": {ops{other(at(deliver, 15, 16)), at(page(list, pet(1, "pending")), 20, 21)}, false, true},
		"absent after it was seen": {ops{
			{Kind: Add, Animal: 2, Keyed: true, Variant: "available", Call: 50 * ms, Return: 60 * ms},
			{Kind: Add, Animal: 2, Keyed: true, Call: 10 * ms, Return: 200 * ms, Code: ok, PetID: 2},
			at(page(list, pet(1, "sold"), Item{Animal: 2, ID: 2}), 15, 20),
			at(list, 30, 40),
		}, false, false},
		"get of an older status":         {ops{later(get, func(o *Operation) { o.PetStatus = "pending" })}, false, false},
		"get of an order's older status": {ops{later(order, func(o *Operation) { o.Kind, o.Keyed = GetOrder, false })}, false, false},
		"get":                            {ops{get}, true, false},
		"key reused for another variant": {ops{later(add,
			func(o *Operation) { o.Variant, o.Code, o.PetID, o.PetStatus = "", "idempotency_key_reused", 0, "" })}, true, false},
		"key reused for the same variant": {
			ops{later(add, func(o *Operation) { o.Code, o.PetID, o.PetStatus = "idempotency_key_reused", 0, "" })},
			false, false,
		},
		"added with another status":       {ops{with(add2, func(o *Operation) { o.PetStatus = "sold" })}, false, false},
		"added first, and replayed":       {ops{with(add2, func(o *Operation) { o.Replayed = true })}, false, false},
		"repeated with another status":    {ops{later(add, func(o *Operation) { o.Replayed, o.PetStatus = true, "sold" })}, false, false},
		"order repeated":                  {ops{later(order, func(o *Operation) { o.Replayed = true })}, true, false},
		"order repeated, not marked":      {ops{at(order, 13, 14)}, false, false},
		"order repeated, with another id": {ops{later(order, func(o *Operation) { o.Replayed, o.OrderID = true, 9 })}, false, false},
		"order repeated, with its status": {ops{later(order, func(o *Operation) { o.Replayed, o.OrderStatus = true, "delivered" })}, false, false},
		"order of an animal that is there": {
			ops{add2, {Kind: Order, Animal: 2, Call: 9 * ms, Return: 10 * ms, Code: "pet_not_available", PetID: 2}},
			false, false,
		},
		"delivered again":                {ops{at(deliver, 15, 16)}, true, false},
		"delivered, with another status": {ops{later(deliver, func(o *Operation) { o.OrderStatus = "placed" })}, false, false},
		"delivered, and a conflict": {
			ops{later(deliver, func(o *Operation) { o.Code, o.OrderStatus = "order_state_conflict", "" })},
			false,
			false,
		},
		"delivered, and cancelled": {ops{later(deliver, func(o *Operation) { o.Kind, o.OrderStatus = Cancel, "cancelled" })}, false, false},
		"delivered, and not cancelled": {ops{later(deliver,
			func(o *Operation) { o.Kind, o.Code, o.OrderStatus = Cancel, "order_state_conflict", "" })}, true, false},
		"full page beside a later id": {
			ops{add2, with(list, func(o *Operation) { o.Limit, o.More, o.Call, o.Return = 1, true, 10*ms, 11*ms })},
			true, false,
		},
		"id at the same time": {ops{
			{Kind: Add, Animal: 2, Call: 7 * ms, Return: 9 * ms, Code: ok, PetID: 3},
			{Kind: Add, Animal: 3, Call: 9 * ms, Return: 10 * ms, Code: ok, PetID: 2},
		}, true, false},
		"reads that all fail": {slices.Repeat(ops{{Kind: Get, Animal: 1, PetID: 1, Call: 7 * ms, Return: 8 * ms}}, 100), false, false},
		"outcome that is not known": {
			ops{later(order, func(o *Operation) { o.Order, o.OrderID, o.Code, o.OrderStatus = 2, 0, "", "" })},
			true,
			false,
		},
		"delivery before it was ordered": {ops{later(deliver, func(o *Operation) { o.Order, o.OrderID = 2, 2 })}, false, false},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			h := NewHistory(test.shared)
			for _, op := range append(ops{add, order, deliver}, test.added...) {
				h.add(op)
			}
			path := filepath.Join(t.TempDir(), "history.ndjson.gz")
			testkit.Check(t, h.Save(path))
			loaded, err := Load(path)
			testkit.Check(t, err)
			problems, err := loaded.Check("")
			if err != nil || (len(problems) == 0) != test.possible {
				t.Errorf("got the problems %v and %v, want that it is possible: %t", problems, err, test.possible)
			}
		})
	}
}
