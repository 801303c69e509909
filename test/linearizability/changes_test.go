package linearizability

import (
	"slices"
	"testing"

	"example.com/petstore/internal/test/testkit"
)

// TestJudgeComparesResponsesWithTheChanges judges histories in which an animal is added, ordered and delivered with the API
// key 1, and the changes have the positions 11 to 15.
func TestJudgeComparesResponsesWithTheChanges(t *testing.T) {
	t.Parallel()
	sold, pending, available := pet(1, 1, "sold"), pet(1, 1, "pending"), pet(1, 1, "available")
	placed, ended1 := orderItem(1, 1, "placed"), orderItem(1, 1, "delivered")
	all := []Change{
		{11, petAdded, "key:1", available, nil, nil},
		{12, petUpdated, "key:1", pending, &available, nil},
		{13, orderPlaced, "key:1", placed, nil, nil},
		{14, "order.delivered", "key:1", ended1, nil, nil},
		{15, petUpdated, "key:1", sold, &pending, nil},
	}
	by := func(key int, op Operation) Operation {
		op.Key = key
		return op
	}
	read := func(position int64, op Operation) Operation {
		op.Position = position
		return op.at(7, 8)
	}
	counted := func(category int64, counts ...int) Operation {
		return Operation{Kind: Count, Query: Query{Category: category}, Response: Response{Code: ok, Counts: [5]int(counts)}}
	}
	changed := func(n int, change func(*Change)) []Change {
		changes := slices.Clone(all)
		change(&changes[n])
		return changes
	}
	renamed := pet(1, 1, "sold")
	renamed.Variant = 7
	rename := Operation{Kind: Correct, Shelf: 1, ID: 1, Patch: Patch{Variant: new(7)}, Response: Response{Code: ok, Items: []Item{renamed}}}.at(9, 10)
	again, removed := Change{17, petUpdated, "key:1", sold, &renamed, nil}, Change{16, petRemoved, "key:1", sold, nil, nil}
	renaming := Change{16, petUpdated, "key:2", renamed, &sold, nil}
	remove := Operation{Kind: Remove, Shelf: 1, ID: 1, Response: Response{Code: ok}}.at(11, 12)
	rex := Item{ID: 2, Fields: Fields{Name: "Rex", Category: -1}}
	naming := Change{16, categoryNamed, "key:2", Item{}, nil, &Category{ID: 2, Name: "Dogs"}}
	unnaming := Change{17, categoryRemoved, "key:2", Item{}, nil, &Category{ID: 2, Name: "Dogs"}}
	unnamed := by(2, named("")).at(11, 12)
	categoriesAt := func(position int64, all ...Category) Operation {
		op := categories(all...).at(13, 14)
		op.Position = position
		return op
	}
	imported := Change{16, petAdded, "command:import", rex, nil, nil}
	command := func(changes int) Operation {
		return Operation{Kind: Command, Changes: changes, Response: Response{Code: ok}}.at(9, 10)
	}
	for name, test := range map[string]struct {
		changes    []Change
		operations []Operation
		possible   bool
	}{
		"as it was":             {all, nil, true},
		"a change is missing":   {all[:4], nil, false},
		"a position is missing": {changed(4, func(c *Change) { c.Seq++ }), nil, false},
		"in another order": {
			append(all[:3:3],
				Change{14, petUpdated, "key:1", sold, &pending, nil}, Change{15, "order.delivered", "key:1", ended1, nil, nil}), nil, true,
		},
		"another animal before":   {changed(4, func(c *Change) { c.Before = &available }), nil, false},
		"another animal after":    {changed(4, func(c *Change) { c.Item = available }), nil, false},
		"without a caller":        {changed(0, func(c *Change) { c.Caller = "" }), nil, false},
		"another caller":          {changed(4, func(c *Change) { c.Caller = "key:2" }), nil, false},
		"another animal is added": {changed(0, func(c *Change) { c.Item.Animal = 2 }), nil, false},

		"corrected":                   {append(all, renaming), []Operation{by(2, rename)}, true},
		"corrected by another":        {append(all, renaming), []Operation{by(1, rename)}, false},
		"corrected, perhaps":          {append(all, renaming), []Operation{by(2, rename).code("")}, true},
		"corrected by nobody":         {append(all, renaming), nil, false},
		"corrected, but not a change": {all, []Operation{by(2, rename)}, false},
		"refused, but a change":       {append(all, renaming), []Operation{by(2, rename).code(preconditionFailed)}, false},
		"removed":                     {append(all, removed), []Operation{by(1, remove)}, true},
		"removed, as it was before":   {append(all, Change{16, petRemoved, "key:1", pending, nil, nil}), []Operation{by(1, remove)}, false},
		"removed, but not a change":   {all, []Operation{by(1, remove)}, false},
		"removed before its request":  {append(all, removed), []Operation{by(1, remove), read(16, listed(List, Query{}))}, false},
		"after a later one":           {append(all, renaming, again), []Operation{by(2, rename)}, false},
		"requested after its response": {
			append(all, Change{16, petAdded, "key:1", pet(2, 2, ""), nil, nil}, Change{17, petUpdated, "key:2", renamed, &sold, nil}),
			[]Operation{by(1, added(2, 2, "")).at(20, 21), by(2, rename)},
			false,
		},

		"read":                            {all, []Operation{read(15, got(1, 1, "sold"))}, true},
		"read without a position":         {all, []Operation{read(0, got(1, 1, "sold"))}, false},
		"read behind":                     {all, []Operation{read(14, got(1, 1, "sold"))}, false},
		"read behind, while it changes":   {all, []Operation{read(12, got(1, 1, "sold")).at(5, 8)}, false},
		"read earlier, while it changes":  {all, []Operation{read(13, got(1, 1, "sold")).at(5, 8)}, true},
		"read ahead":                      {all, []Operation{read(15, got(1, 1, "pending")).at(5, 6)}, false},
		"read at no position":             {all, []Operation{read(16, got(1, 1, "sold"))}, false},
		"listed":                          {all, []Operation{read(15, listed(List, Query{}, sold))}, true},
		"listed earlier":                  {all, []Operation{read(13, listed(List, Query{}, pending)).at(5, 6)}, true},
		"listed ahead":                    {all, []Operation{read(15, listed(List, Query{}, pending)).at(5, 6)}, false},
		"not listed, by its status":       {all, []Operation{read(15, listed(List, Query{Statuses: "pending"}))}, true},
		"not listed, ahead":               {all, []Operation{read(14, listed(List, Query{Statuses: "pending"})).at(5, 6)}, true},
		"not listed, by an older status":  {all, []Operation{read(15, listed(List, Query{Statuses: "sold"}))}, false},
		"not listed, by its category":     {all, []Operation{read(15, listed(List, Query{Category: 4}))}, true},
		"orders listed":                   {all, []Operation{read(15, listed(ListOrders, Query{}, ended1))}, true},
		"orders listed ahead":             {all, []Operation{read(14, listed(ListOrders, Query{}, placed)).at(5, 6)}, false},
		"counted":                         {all, []Operation{read(15, counted(0, 0, 0, 1, 0, 1))}, true},
		"counted earlier":                 {all, []Operation{read(13, counted(0, 0, 1, 0, 0, 1)).at(5, 6)}, true},
		"counted ahead":                   {all, []Operation{read(15, counted(0, 0, 1, 0, 0, 1)).at(5, 6)}, false},
		"counted later than its position": {all, []Operation{read(14, counted(0, 0, 0, 1, 0, 1)).at(5, 6)}, false},
		"counted in its category":         {all, []Operation{read(15, counted(2, 0, 0, 1, 0, 1))}, true},
		"counted in another category":     {all, []Operation{read(15, counted(4, 0, 0, 1, 0, 1))}, false},

		"named":                   {append(all, naming), []Operation{by(2, named("Dogs"))}, true},
		"named by another":        {append(all, naming), []Operation{by(1, named("Dogs"))}, false},
		"named, perhaps":          {append(all, naming), []Operation{by(2, named("Dogs")).code("")}, true},
		"named by nobody":         {append(all, naming), nil, false},
		"named otherwise":         {append(all, naming), []Operation{by(2, named("Cats"))}, false},
		"named, but not a change": {all, []Operation{by(2, named("Dogs"))}, false},
		"named as it is":          {append(all, naming), []Operation{by(2, named("Dogs")), by(1, named("Dogs")).at(11, 12)}, true},
		"named as it is, as a change": {
			append(all, naming, Change{17, categoryNamed, "key:2", Item{}, nil, naming.Category}), []Operation{by(2, named("Dogs"))}, false,
		},
		"unnamed":                   {append(all, naming, unnaming), []Operation{by(2, named("Dogs")), unnamed}, true},
		"unnamed by nobody":         {append(all, naming, unnaming), []Operation{by(2, named("Dogs"))}, false},
		"unnamed, but not a change": {append(all, naming), []Operation{by(2, named("Dogs")), unnamed}, false},
		"unnamed without a name":    {append(all, Change{16, categoryRemoved, "key:2", Item{}, nil, unnaming.Category}), []Operation{unnamed}, false},
		"unnamed, another name": {
			append(all, naming, Change{17, categoryRemoved, "key:2", Item{}, nil, &Category{ID: 2, Name: "Cats"}}),
			[]Operation{by(2, named("Dogs")), unnamed},
			false,
		},
		"categories":               {append(all, naming), []Operation{by(2, named("Dogs")), categoriesAt(16, soldIn(2, "Dogs"))}, true},
		"categories behind":        {append(all, naming), []Operation{by(2, named("Dogs")), categoriesAt(15, soldIn(2, ""))}, false},
		"categories over a name":   {append(all, naming), []Operation{by(2, named("Dogs")), categoriesAt(16, soldIn(2, ""))}, false},
		"categories over an order": {all, []Operation{categoriesAt(15, Category{ID: 2, Counts: [5]int{1: 1, 4: 1}})}, false},
		"categories, one too few":  {all, []Operation{categoriesAt(15)}, false},
		"categories, one too many": {all, []Operation{categoriesAt(15, soldIn(2, ""), Category{ID: 3, Name: "Cats"})}, false},
		"categories with a link": {
			all, []Operation{categoriesAt(15, soldIn(2, "")).where(func(o *Operation) { o.Query.Limit, o.More = 1, true })}, false,
		},
		"categories before its name": {append(all, naming), []Operation{by(2, named("Dogs")), categoriesAt(15, soldIn(2, "")).at(7, 8)}, true},
		"categories behind it":       {all, []Operation{categoriesAt(15).where(func(o *Operation) { o.Query.After = 2 })}, true},

		"imported":                   {append(all, imported), []Operation{command(1)}, true},
		"imported, but not a change": {all, []Operation{command(1)}, false},
		"imported, read soon":        {append(all, imported), []Operation{command(1), read(15, listed(List, Query{}, sold)).at(100, 109)}, true},
		"imported, read late":        {append(all, imported), []Operation{command(1), read(15, listed(List, Query{}, sold)).at(111, 120)}, false},
		"imported, ahead of a list":  {append(all, imported), []Operation{command(1), read(16, listed(List, Query{}, sold)).at(11, 20)}, false},
		"imported, and listed": {
			append(all, imported), []Operation{command(1), read(16, listed(List, Query{}, sold, rex)).at(11, 20)}, true,
		},
		"imported, and counted":          {append(all, imported), []Operation{command(1), read(16, counted(-1, 0, 0, 0, 1, 1)).at(11, 20)}, true},
		"imported into another category": {append(all, imported), []Operation{command(1), read(16, counted(-2, 0, 0, 0, 1, 1)).at(11, 20)}, false},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			h := NewHistory()
			h.Changes = test.changes
			for _, op := range append([]Operation{
				by(1, added(1, 1, "available")).at(1, 2), by(1, ordered(1, 1, 1)).at(3, 4), by(1, delivered).at(5, 6),
			}, test.operations...) {
				h.add(op)
			}
			problems := h.checkChanges()
			if (len(problems) == 0) != test.possible {
				t.Errorf("got the problems %v, want that it is possible: %t", problems, test.possible)
			}
			path := t.TempDir() + "/history.ndjson.gz"
			testkit.Check(t, h.Save(path))
			loaded, err := Load(path)
			testkit.Check(t, err)
			testkit.Equal(t, "problems of the loaded history", len(problems), len(loaded.checkChanges()))
		})
	}
}
