package linearizability

import (
	"path/filepath"
	"slices"
	"testing"
	"time"

	"example.com/petstore/test/harness"
)

func TestImpossibleOperationIsNamed(t *testing.T) {
	t.Parallel()
	h := NewHistory(false)
	h.add(Operation{Kind: Add, Animal: 1, Call: 1, Return: 2, Code: ok, PetID: 7})
	h.add(Operation{Kind: List, Client: 3, Limit: 10, Call: 4, Return: 5, Code: ok})
	problems, err := h.Check("")
	const want = "animal-1: /v1/pets?after=0&limit=10 (ok): animal-1 with the id 7 missing by client 3 from 4ns to 5ns is impossible after 1 other operations"
	if err != nil || len(problems) != 1 || problems[0].Error() != want {
		t.Errorf("got the problems %v and %v, want %q", problems, err, want)
	}
}

// TestJudgeFindsWhatIsImpossible judges short histories, each of which changes one thing of a possible one.
func TestJudgeFindsWhatIsImpossible(t *testing.T) {
	t.Parallel()
	const ms = time.Millisecond
	add := Operation{Kind: Add, Animal: 1, Variant: "available", Keyed: true, Call: 1 * ms, Return: 2 * ms, Code: ok, PetID: 1, PetStatus: "available"}
	order := Operation{Kind: Order, Animal: 1, Order: 1, Keyed: true, Call: 3 * ms, Return: 4 * ms, Code: ok, PetID: 1, OrderID: 1, OrderStatus: "placed"}
	deliver := Operation{Kind: Deliver, Animal: 1, Order: 1, Call: 5 * ms, Return: 6 * ms, Code: ok, PetID: 1, OrderID: 1, OrderStatus: "delivered"}
	add2 := Operation{Kind: Add, Animal: 2, Variant: "available", Call: 2 * ms, Return: 3 * ms, Code: ok, PetID: 2, PetStatus: "available"}
	item2 := Item{Animal: 2, Variant: "available", ID: 2, Status: "available"}
	sold := Item{Animal: 1, Variant: "available", ID: 1, Status: "sold"}
	list := Operation{Kind: List, Limit: 10, Call: 7 * ms, Return: 8 * ms, Code: ok, Page: []Item{sold}}
	get := Operation{Kind: Get, Animal: 1, Variant: "available", Call: 7 * ms, Return: 8 * ms, Code: ok, PetID: 1, PetStatus: "sold"}
	unknown2 := Operation{Kind: Order, Animal: 2, Call: 4 * ms, Return: 5 * ms, PetID: 2}
	orders := Operation{Kind: ListOrders, Limit: 10, Call: 7 * ms, Return: 8 * ms, Code: ok, Page: []Item{{ID: 1, PetID: 1, Status: "delivered"}}}
	placed := []Item{{ID: 1, PetID: 1, Status: "placed"}}
	with := func(op Operation, change func(*Operation)) Operation {
		change(&op)
		return op
	}
	later := func(op Operation, change func(*Operation)) Operation {
		op.Call, op.Return = op.Call+10*ms, op.Return+10*ms
		return with(op, change)
	}
	other := func(o *Operation) { o.Process = 1 }
	for name, test := range map[string]struct {
		added    []Operation // to add, order and deliver
		possible bool
		shared   bool
	}{
		"nothing else":             {nil, true, false},
		"repeated":                 {[]Operation{later(add, func(o *Operation) { o.Replayed = true })}, true, false},
		"repeated, not marked":     {[]Operation{later(add, func(*Operation) {})}, false, false},
		"repeated without a key":   {[]Operation{later(add, func(o *Operation) { o.Replayed, o.Keyed = true, false })}, false, false},
		"key in use":               {[]Operation{with(add, func(o *Operation) { o.Code, o.PetID = "idempotency_in_progress", 0 })}, false, false},
		"sold twice":               {[]Operation{later(order, func(o *Operation) { o.Order, o.OrderID = 2, 2 })}, false, false},
		"second order refused":     {[]Operation{later(order, func(o *Operation) { o.Order, o.OrderID, o.Code = 2, 0, "pet_not_available" })}, true, false},
		"one id for two animals":   {[]Operation{with(add, func(o *Operation) { o.Animal = 2 })}, false, false},
		"id that falls":            {[]Operation{{Kind: Add, Animal: 2, Call: 9 * ms, Return: 10 * ms, Code: ok}}, false, false},
		"list refused":             {[]Operation{with(list, func(o *Operation) { o.Code, o.Page = "missing_api_key", nil })}, false, false},
		"list":                     {[]Operation{list}, true, false},
		"list without it":          {[]Operation{with(list, func(o *Operation) { o.Page = nil })}, false, false},
		"list with its old status": {[]Operation{with(list, func(o *Operation) { o.Page = []Item{{Animal: 1, Variant: "available", ID: 1, Status: "pending"}} })}, false, false},
		"list without one that was seen": {[]Operation{
			{Kind: Add, Animal: 2, Call: 7 * ms, Return: 20 * ms, Code: ok, PetID: 2},
			with(list, func(o *Operation) { o.Call, o.Return, o.Page = 9*ms, 10*ms, []Item{sold, {Animal: 2, ID: 2}} }),
			with(list, func(o *Operation) { o.Call, o.Return = 11*ms, 12*ms }),
		}, false, false},
		"filtered list without it":      {[]Operation{with(list, func(o *Operation) { o.Filter, o.Page = "sold", nil })}, false, false},
		"filtered list of others":       {[]Operation{with(list, func(o *Operation) { o.Filter, o.Page = "pending", nil })}, true, false},
		"get of another animal":         {[]Operation{{Kind: Get, Animal: 1, Variant: "", Call: 7 * ms, Return: 8 * ms, Code: ok, PetID: 1, PetStatus: "sold"}}, false, false},
		"order of another animal":       {[]Operation{{Kind: GetOrder, Animal: 1, Order: 1, Call: 7 * ms, Return: 8 * ms, Code: ok, PetID: 2, OrderID: 1, OrderStatus: "delivered"}}, false, false},
		"another process within 100 ms": {[]Operation{with(list, func(o *Operation) { o.Page = nil; other(o) })}, true, true},
		"another process after 100 ms":  {[]Operation{with(list, func(o *Operation) { o.Page, o.Call, o.Return = nil, 107*ms, 108*ms; other(o) })}, false, true},
		"its process within 100 ms":     {[]Operation{with(list, func(o *Operation) { o.Page = nil })}, false, true},
		"its process, changed by others before": {[]Operation{
			with(add2, other),
			{Kind: Order, Animal: 2, Order: 1, Call: 10 * ms, Return: 11 * ms, Code: ok, PetID: 2, OrderID: 2, OrderStatus: "placed"},
			with(list, func(o *Operation) { o.Call, o.Return, o.Page = 20*ms, 21*ms, []Item{sold, item2} }),
		}, false, true},
		"its process, perhaps changed by others": {[]Operation{
			add2, with(order, func(o *Operation) { o.Animal, o.PetID, o.Code = 2, 2, ""; other(o) }), list,
		}, false, true},
		"its process, whose response is late": {[]Operation{
			add2,
			{Kind: Order, Animal: 2, Call: 10 * ms, Return: 11 * ms, Code: ok, PetID: 2, OrderID: 2, OrderStatus: "placed", Process: 1},
			{Kind: Cancel, Animal: 2, Call: 30 * ms, Return: 60 * ms, Code: ok, PetID: 2, OrderID: 2, OrderStatus: "cancelled"},
			{Kind: Order, Animal: 2, Order: 1, Call: 35 * ms, Return: 36 * ms, Code: ok, PetID: 2, OrderID: 3, OrderStatus: "placed", Process: 1},
			{Kind: Deliver, Animal: 2, Order: 1, Call: 40 * ms, Return: 41 * ms, Code: ok, PetID: 2, OrderID: 3, OrderStatus: "delivered", Process: 1},
			with(list, func(o *Operation) {
				o.Call, o.Return, o.Page = 61*ms, 62*ms, []Item{sold, {Animal: 2, Variant: "available", ID: 2, Status: "pending"}}
			}),
		}, true, true},
		"one that is there twice": {[]Operation{
			with(add2, func(o *Operation) { o.Code, o.PetID, o.Keyed = "", 0, true }),
			with(add2, func(o *Operation) { o.PetID, o.Keyed, o.Call, o.Return = 3, true, 3*ms, 4*ms; other(o) }),
			with(list, func(o *Operation) {
				o.Call, o.Return, o.Page = 500*ms, 501*ms, []Item{sold, item2, {Animal: 2, Variant: "available", ID: 3, Status: "available"}}
			}),
		}, false, true},
		"another name": {[]Operation{with(list, func(o *Operation) { o.Page = []Item{{Animal: 1, Variant: "", ID: 1, Status: "sold"}}; other(o) })}, false, true},
		"id of an order that falls": {[]Operation{
			add2,
			{Kind: Order, Animal: 2, Call: 7 * ms, Return: 8 * ms, Code: ok, PetID: 2, OrderID: 0, OrderStatus: "placed"},
		}, false, false},
		"another process after 100 ms, filtered": {[]Operation{with(list, func(o *Operation) { o.Filter, o.Page, o.Call, o.Return = "sold", nil, 107*ms, 108*ms; other(o) })}, false, true},
		"an older status within 100 ms": {[]Operation{with(list, func(o *Operation) {
			o.Page, o.Call, o.Return = []Item{{Animal: 1, Variant: "available", ID: 1, Status: "pending"}}, 105*ms, 108*ms
			other(o)
		})}, true, true},
		"an older status after 100 ms": {[]Operation{with(list, func(o *Operation) {
			o.Page, o.Call, o.Return = []Item{{Animal: 1, Variant: "available", ID: 1, Status: "pending"}}, 107*ms, 108*ms
			other(o)
		})}, false, true},
		"not of its filter":               {[]Operation{with(list, func(o *Operation) { o.Filter = "available"; other(o) })}, false, true},
		"more than its limit":             {[]Operation{with(list, func(o *Operation) { o.Limit = 0 })}, false, false},
		"list of orders":                  {[]Operation{orders}, true, false},
		"list of orders without it":       {[]Operation{with(orders, func(o *Operation) { o.Page = nil })}, false, false},
		"list of orders, an older status": {[]Operation{with(orders, func(o *Operation) { o.Page = []Item{{ID: 1, PetID: 1, Status: "placed"}} })}, false, false},
		"list of orders, another animal":  {[]Operation{add2, with(orders, func(o *Operation) { o.Page = []Item{{ID: 1, PetID: 2, Status: "delivered"}} })}, false, false},
		"list of orders, unknown animal":  {[]Operation{with(orders, func(o *Operation) { o.Page = append(o.Page[:1:1], Item{ID: 2, PetID: 3, Status: "placed"}) })}, false, false},
		"list of orders, not ordered":     {[]Operation{with(orders, func(o *Operation) { o.Page = append(o.Page[:1:1], Item{ID: 2, PetID: 1, Status: "placed"}) })}, false, false},
		"list of orders, perhaps ordered": {[]Operation{
			add2, with(order, func(o *Operation) { o.Animal, o.PetID, o.OrderID, o.Code = 2, 2, 0, "" }),
			with(orders, func(o *Operation) { o.Page = append(o.Page[:1:1], Item{ID: 2, PetID: 2, Status: "placed"}) }),
		}, true, false},
		"list of orders before it":                {[]Operation{with(orders, func(o *Operation) { o.Call, o.Return, o.Page = 2*ms, 3*ms, nil })}, true, false},
		"orders of an animal":                     {[]Operation{add2, with(orders, func(o *Operation) { o.PetID, o.Page = 2, nil })}, true, false},
		"orders of an animal without it":          {[]Operation{with(orders, func(o *Operation) { o.PetID, o.Page = 1, nil })}, false, false},
		"orders of an animal with others":         {[]Operation{add2, with(orders, func(o *Operation) { o.PetID = 2 })}, false, false},
		"orders of a status":                      {[]Operation{with(orders, func(o *Operation) { o.Filter, o.Page = "placed", nil })}, true, false},
		"orders of a status without it":           {[]Operation{with(orders, func(o *Operation) { o.Filter, o.Page = "delivered", nil })}, false, false},
		"orders of another status":                {[]Operation{with(orders, func(o *Operation) { o.Filter = "placed" })}, false, false},
		"orders, another process within 100 ms":   {[]Operation{with(orders, func(o *Operation) { o.Page = nil; other(o) })}, true, true},
		"orders, another process after 100 ms":    {[]Operation{with(orders, func(o *Operation) { o.Page, o.Call, o.Return = nil, 107*ms, 108*ms; other(o) })}, false, true},
		"orders, its process within 100 ms":       {[]Operation{with(orders, func(o *Operation) { o.Page = nil })}, false, true},
		"orders, an older status within 100 ms":   {[]Operation{with(orders, func(o *Operation) { o.Call, o.Return, o.Page = 105*ms, 108*ms, placed; other(o) })}, true, true},
		"orders, an older status after 100 ms":    {[]Operation{with(orders, func(o *Operation) { o.Call, o.Return, o.Page = 107*ms, 108*ms, placed; other(o) })}, false, true},
		"orders refused":                          {[]Operation{with(orders, func(o *Operation) { o.Code, o.Page = "invalid_parameter", nil })}, false, false},
		"orders that descend, or are there twice": {[]Operation{with(orders, func(o *Operation) { o.Page = append(o.Page[:1:1], o.Page[0]) })}, false, false},
		"full page without a link, with more":     {[]Operation{add2, with(list, func(o *Operation) { o.Limit = 1 })}, false, false},
		"full page with a link":                   {[]Operation{add2, with(list, func(o *Operation) { o.Limit, o.More = 1, true })}, true, false},
		"page with a link that is not full":       {[]Operation{with(list, func(o *Operation) { o.More = true })}, false, false},
		"order of nobody":                         {[]Operation{add2, with(orders, func(o *Operation) { o.Page = append(o.Page[:1:1], Item{ID: 7, PetID: 2, Status: "placed"}) })}, false, true},
		"orders of one request": {[]Operation{add2, unknown2, with(orders, func(o *Operation) {
			o.Page = append(o.Page[:1:1], Item{ID: 2, PetID: 2, Status: "placed"}, Item{ID: 3, PetID: 2, Status: "placed"})
		})}, false, false},
		"order that nobody can end": {[]Operation{add2, unknown2, with(orders, func(o *Operation) { o.Page = append(o.Page[:1:1], Item{ID: 2, PetID: 2, Status: "delivered"}) })}, false, true},
		"id of an order after pages": {[]Operation{
			add2, unknown2,
			with(orders, func(o *Operation) { o.Page = append(o.Page[:1:1], Item{ID: 9, PetID: 2, Status: "placed"}) }),
			{Kind: Add, Animal: 3, Call: 9 * ms, Return: 10 * ms, Code: ok, PetID: 4},
			{Kind: Order, Animal: 3, Call: 11 * ms, Return: 12 * ms, Code: ok, PetID: 4, OrderID: 3, OrderStatus: "placed"},
		}, false, false},
		"an older status 100 ms after the first of two responses": {[]Operation{
			with(deliver, func(o *Operation) { o.Return = 50 * ms }),
			with(list, func(o *Operation) {
				o.Call, o.Return, o.Page = 110*ms, 111*ms, []Item{{Animal: 1, Variant: "available", ID: 1, Status: "pending"}}
				other(o)
			}),
		}, false, true},
		"its process, repeated by another": {[]Operation{later(deliver, func(o *Operation) { other(o) }), with(list, func(o *Operation) {
			o.Call, o.Return, o.Page = 20*ms, 21*ms, []Item{{Animal: 1, Variant: "available", ID: 1, Status: "pending"}}
		})}, false, true},
		"absent after it was seen": {[]Operation{
			{Kind: Add, Animal: 2, Keyed: true, Variant: "available", Call: 50 * ms, Return: 60 * ms},
			{Kind: Add, Animal: 2, Keyed: true, Call: 10 * ms, Return: 200 * ms, Code: ok, PetID: 2},
			with(list, func(o *Operation) { o.Call, o.Return, o.Page = 15*ms, 20*ms, []Item{sold, {Animal: 2, ID: 2}} }),
			with(list, func(o *Operation) { o.Call, o.Return = 30*ms, 40*ms }),
		}, false, false},
		"get of an older status":           {[]Operation{later(get, func(o *Operation) { o.PetStatus = "pending" })}, false, false},
		"get of an order's older status":   {[]Operation{later(order, func(o *Operation) { o.Kind, o.Keyed = GetOrder, false })}, false, false},
		"get":                              {[]Operation{get}, true, false},
		"key reused for another variant":   {[]Operation{later(add, func(o *Operation) { o.Variant, o.Code, o.PetID, o.PetStatus = "", "idempotency_key_reused", 0, "" })}, true, false},
		"key reused for the same variant":  {[]Operation{later(add, func(o *Operation) { o.Code, o.PetID, o.PetStatus = "idempotency_key_reused", 0, "" })}, false, false},
		"added with another status":        {[]Operation{with(add2, func(o *Operation) { o.PetStatus = "sold" })}, false, false},
		"added first, and replayed":        {[]Operation{with(add2, func(o *Operation) { o.Replayed = true })}, false, false},
		"repeated with another status":     {[]Operation{later(add, func(o *Operation) { o.Replayed, o.PetStatus = true, "sold" })}, false, false},
		"order repeated":                   {[]Operation{later(order, func(o *Operation) { o.Replayed = true })}, true, false},
		"order repeated, not marked":       {[]Operation{later(order, func(*Operation) {})}, false, false},
		"order repeated, with another id":  {[]Operation{later(order, func(o *Operation) { o.Replayed, o.OrderID = true, 9 })}, false, false},
		"order repeated, with its status":  {[]Operation{later(order, func(o *Operation) { o.Replayed, o.OrderStatus = true, "delivered" })}, false, false},
		"order of an animal that is there": {[]Operation{add2, {Kind: Order, Animal: 2, Call: 9 * ms, Return: 10 * ms, Code: "pet_not_available", PetID: 2}}, false, false},
		"delivered again":                  {[]Operation{later(deliver, func(*Operation) {})}, true, false},
		"delivered, with another status":   {[]Operation{later(deliver, func(o *Operation) { o.OrderStatus = "placed" })}, false, false},
		"delivered, and a conflict":        {[]Operation{later(deliver, func(o *Operation) { o.Code, o.OrderStatus = "order_state_conflict", "" })}, false, false},
		"delivered, and cancelled":         {[]Operation{later(deliver, func(o *Operation) { o.Kind, o.OrderStatus = Cancel, "cancelled" })}, false, false},
		"delivered, and not cancelled":     {[]Operation{later(deliver, func(o *Operation) { o.Kind, o.Code, o.OrderStatus = Cancel, "order_state_conflict", "" })}, true, false},
		"full page beside a later id":      {[]Operation{add2, with(list, func(o *Operation) { o.Limit, o.More, o.Call, o.Return = 1, true, 10*ms, 11*ms })}, true, false},
		"id at the same time": {[]Operation{
			{Kind: Add, Animal: 2, Call: 7 * ms, Return: 9 * ms, Code: ok, PetID: 3},
			{Kind: Add, Animal: 3, Call: 9 * ms, Return: 10 * ms, Code: ok, PetID: 2},
		}, true, false},
		"reads that all fail":            {slices.Repeat([]Operation{{Kind: Get, Animal: 1, PetID: 1, Call: 7 * ms, Return: 8 * ms}}, 100), false, false},
		"outcome that is not known":      {[]Operation{later(order, func(o *Operation) { o.Order, o.OrderID, o.Code, o.OrderStatus = 2, 0, "", "" })}, true, false},
		"delivery before it was ordered": {[]Operation{later(deliver, func(o *Operation) { o.Order, o.OrderID = 2, 2 })}, false, false},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			h := NewHistory(test.shared)
			for _, op := range append([]Operation{add, order, deliver}, test.added...) {
				h.add(op)
			}
			path := filepath.Join(t.TempDir(), "history.ndjson.gz")
			harness.Check(t, h.Save(path))
			loaded, err := Load(path)
			harness.Check(t, err)
			problems, err := loaded.Check("")
			if err != nil || (len(problems) == 0) != test.possible {
				t.Errorf("got the problems %v and %v, want that it is possible: %t", problems, err, test.possible)
			}
		})
	}
}
