package linearizability

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"math"
	"net/http"
	"slices"
	"time"
)

// maxAge is how long a response may miss what a command beside the service has committed (docs/reliability.md).
const maxAge = 100 * time.Millisecond

// A Change is a change of the feed.
type Change struct {
	Seq    int64  `json:"seq"`
	Type   string `json:"type"`
	Caller string `json:"caller,omitempty"`
	Item   Item   `json:"item"` // the animal or the order after the change, or the animal before its removal
	Before *Item  `json:"before,omitempty"`
	// Category is the category that has got a name, or whose name was removed.
	Category *Category `json:"category,omitempty"`
}

// The types of changes.
const (
	petAdded    = "pet.added"
	petUpdated  = "pet.updated"
	petRemoved  = "pet.removed"
	orderPlaced = "order.placed"

	categoryNamed   = "category.named"
	categoryRemoved = "category.removed"
)

// kindOf has the kind of the operation that makes a change of an order. petStatus has the status that its animal gets.
var (
	kindOf    = map[string]Kind{orderPlaced: Order, "order.delivered": Deliver, "order.cancelled": Cancel}
	petStatus = map[Kind]string{Order: "pending", Deliver: "sold", Cancel: "available"}
)

// decode sets Item and Before, or Category, from the JSON of the API.
func (c *Change) decode(text []byte) error {
	var records struct {
		Pet, Before, Order *record
		Category           *Category
	}
	err := json.Unmarshal(text, &records)
	if c.Type == categoryNamed || c.Type == categoryRemoved {
		c.Category = records.Category
		if err != nil || c.Category == nil || c.Category.Name == "" {
			err = fmt.Errorf("the change %d (%s) has the records %s: %w", c.Seq, c.Type, text, err)
		}
		return err
	}
	changed := cmp.Or(records.Pet, records.Order)
	if err != nil || changed == nil || (records.Before != nil) != (c.Type == petUpdated) || (records.Order != nil) != (kindOf[c.Type] != "") {
		return fmt.Errorf("the change %d (%s) has the records %s: %w", c.Seq, c.Type, text, err)
	}
	c.Item, err = changed.item()
	if records.Before != nil {
		before, beforeErr := records.Before.item()
		c.Before, err = &before, cmp.Or(err, beforeErr)
	}
	return err
}

// readChanges reads the changes of the store that the history does not have yet.
func (c *Clients) readChanges(ctx context.Context) error {
	client := c.newClient(-1)
	defer client.http.CloseIdleConnections()
	header := http.Header{"Authorization": {"Bearer " + c.Keys[0]}}
	after := int64(0)
	if n := len(c.History.Changes); n > 0 {
		after = c.History.Changes[n-1].Seq
	}
	for {
		url := fmt.Sprintf("%s/v1/changes?limit=100&after=%d", c.URLs[0](), after)
		response, text, err := client.do(http.MethodGet, url, "", header) //nolint:bodyclose // do closes it
		if ctx.Err() != nil {
			return cmp.Or(err, ctx.Err())
		}
		if err != nil || response.StatusCode != http.StatusOK {
			time.Sleep(10 * time.Millisecond) // the process may be starting
			continue
		}
		var page []json.RawMessage
		if err := json.Unmarshal(text, &page); err != nil {
			return err
		}
		if len(page) == 0 && after == 0 {
			return errors.New("the store has no changes")
		}
		if len(page) == 0 {
			return nil
		}
		for _, text := range page {
			var change Change
			err := json.Unmarshal(text, &change)
			if err == nil {
				err = change.decode(text)
			}
			if err != nil {
				return err
			}
			c.History.Changes, after = append(c.History.Changes, change), change.Seq
		}
	}
}

// A feed is the changes of a history, and what they tell about each position.
type feed struct {
	*History
	first       int64                        // the position before the first change
	records     map[recordID][]revision      // the revisions of each record
	ids         map[bool][]int64             // the ids of all orders (true) and of all animals, ascending
	begun       []time.Duration              // by number of changes: when the last request was sent without which these changes are impossible
	categories  map[int64][]categoryRevision // by category; all animals have the key allCategories
	categoryIDs []int64                      // ascending
	problems    []error
}

// A recordID is the id of an animal or of an order.
type recordID struct {
	isOrder bool
	id      int64
}

// A revision is a record from a position on, until its next revision. The item is nil after the removal.
type revision struct {
	from int64
	item *Item
}

// A categoryRevision is a category from a position on, until its next revision.
type categoryRevision struct {
	from int64
	Category
}

const allCategories = math.MaxInt64

// checkChanges checks that the changes are a possible sequence, that operations explain each of them, and that each
// acknowledged write is among them. It checks that each position is not behind the writes that were acknowledged before
// the request, and not ahead of the response.
func (h *History) checkChanges() []error {
	if len(h.Changes) == 0 {
		return nil
	}
	f := &feed{
		History: h, first: h.Changes[0].Seq - 1, records: map[recordID][]revision{}, ids: map[bool][]int64{},
		begun: make([]time.Duration, 1, len(h.Changes)+1), categories: map[int64][]categoryRevision{},
	}
	writes := map[int64][]*Operation{}
	for i := range h.operations {
		if op := &h.operations[i]; op.Kind == Add {
			writes[-int64(op.Shelf)] = append(writes[-int64(op.Shelf)], op)
		} else if !op.onlyReads() {
			writes[op.ID] = append(writes[op.ID], op)
		}
	}
	for i := range h.Changes {
		f.apply(i)
		f.explain(i, writes)
	}
	f.categoryIDs = slices.Sorted(maps.Keys(f.categories))
	f.checkPositions()
	return f.problems[:min(len(f.problems), 10)]
}

func (f *feed) problem(format string, args ...any) {
	f.problems = append(f.problems, fmt.Errorf(format, args...))
}

// at returns the revision of a record at a position, or nil if it is not there.
func (f *feed) at(id recordID, position int64) *Item {
	revisions := f.records[id]
	i, _ := slices.BinarySearchFunc(revisions, position+1, func(v revision, after int64) int { return cmp.Compare(v.from, after) })
	if i == 0 {
		return nil
	}
	return revisions[i-1].item
}

// apply applies the change i, which must be possible after the changes before it.
func (f *feed) apply(i int) {
	c := &f.Changes[i]
	if c.Category != nil {
		f.name(c, c.Seq == f.first+1+int64(i))
		return
	}
	id := recordID{kindOf[c.Type] != "", c.Item.ID}
	now, known := f.at(id, math.MaxInt64-1), len(f.records[id]) > 0
	ids := f.ids[id.isOrder]
	possible := now != nil
	switch {
	case c.Seq != f.first+1+int64(i):
		possible = false
	case c.Type == petAdded || c.Type == orderPlaced:
		possible = !known && (len(ids) == 0 || ids[len(ids)-1] < id.id)
		f.ids[id.isOrder] = append(ids, id.id)
	case !possible:
	case c.Type == petUpdated:
		possible = *c.Before == *now && c.Item != *now
	case c.Type == petRemoved:
		possible = c.Item == *now
	default:
		possible = now.Status == "placed" && c.Item.PetID == now.PetID
	}
	if !possible {
		f.problem("the change %+v is impossible after %+v", *c, now)
	}
	item := &c.Item
	if c.Type == petRemoved {
		item = nil
	}
	f.records[id] = append(f.records[id], revision{c.Seq, item})
	if !id.isOrder {
		f.count(c.Seq, now, -1)
		f.count(c.Seq, item, 1)
	}
}

// name applies a change of the name of a category.
func (f *feed) name(c *Change, possible bool) {
	now := f.category(c.Category.ID, math.MaxInt64-1)
	after := now
	if after.Name = c.Category.Name; c.Type == categoryRemoved {
		possible, after.Name = possible && now.Name == c.Category.Name, ""
	}
	if !possible || after.Name == now.Name {
		f.problem("the change %d (%s) of %+v is impossible after %+v", c.Seq, c.Type, *c.Category, now)
	}
	f.categories[now.ID] = append(f.categories[now.ID], categoryRevision{c.Seq, after})
}

// count adds n to the counts of the animals that are as item, from a position on.
func (f *feed) count(from int64, item *Item, n int) {
	if item == nil {
		return
	}
	for _, id := range []int64{item.category(), allCategories} {
		next := f.category(id, math.MaxInt64-1)
		next.Counts[slices.Index([]string{"available", "pending", "sold", ""}, item.Status)] += n
		next.Counts[4] += n
		f.categories[id] = append(f.categories[id], categoryRevision{from, next})
	}
}

// category returns a category at a position.
func (f *feed) category(id, position int64) Category {
	revisions := f.categories[id]
	i, _ := slices.BinarySearchFunc(revisions, position+1, func(v categoryRevision, after int64) int { return cmp.Compare(v.from, after) })
	if i == 0 {
		return Category{ID: id}
	}
	return revisions[i-1].Category
}

// categoryPage returns the page of categories that a query selects at a position, and whether there are more.
func (f *feed) categoryPage(q Query, position int64) (page []Category, more bool) {
	first, _ := slices.BinarySearch(f.categoryIDs, q.After+1)
	for _, id := range f.categoryIDs[first:] {
		c := f.category(id, position)
		switch {
		case id == allCategories || !c.isListed():
		case len(page) == q.Limit:
			return page, true
		default:
			page = append(page, c)
		}
	}
	return page, false
}

// category returns the category of an animal as the API has it.
func (i Item) category() int64 { return int64(2*i.Shelf + i.Category) }

// explain looks for the operation that has made the change i, which must have the caller of the change. writes are by
// operand. The change must not come after changes that were requested after its response.
func (f *feed) explain(i int, writes map[int64][]*Operation) {
	c := &f.Changes[i]
	f.begun = append(f.begun, f.begun[i])
	if c.Item.Name != "" { // a command or the test itself has changed the animal
		return
	}
	cause, pair := c, f.pairOf(i)
	switch {
	case pair < 0 && kindOf[c.Type] != "":
		f.problem("the change %+v has not changed its animal", *c)
	case pair >= 0 && c.Type == petUpdated:
		cause = &f.Changes[pair]
	}
	begin, end, sameCaller := never, time.Duration(math.MinInt64), false
	answered := never // when the first response said that the change was made
	for _, op := range writes[cause.operand()] {
		if !f.mayCause(op, cause) {
			continue
		}
		sameCaller = sameCaller || c.Caller == fmt.Sprint("key:", op.Key)
		begin = min(begin, op.Call)
		switch {
		case op.Code != ok:
			end = never
		case op.Kind == Correct || op.Kind == Remove || c.Category != nil:
			end = max(end, op.Return)
		default: // other responses with ok are repetitions
			end, answered = max(end, op.Return), min(answered, op.Return)
		}
	}
	end = min(end, answered)
	switch {
	case begin == never:
		f.problem("nobody has requested the change %+v", *c)
	case !sameCaller:
		f.problem("the change %+v has another caller", *c)
	case end < f.begun[i]:
		f.problem("the change %+v was answered at %v, but comes after one that was requested at %v", *c, end, f.begun[i])
	}
	if begin != never {
		f.begun[i+1] = max(f.begun[i], begin)
	}
}

// pairOf returns the number of the change of the animal for a change of an order, and of the order for a change of its
// animal, or -1. Both are made one after the other.
func (f *feed) pairOf(i int) int {
	for _, n := range []int{i - 1, i + 1} {
		if n < 0 || n >= len(f.Changes) {
			continue
		}
		order, animal := &f.Changes[i], &f.Changes[n]
		if order.Type == petUpdated {
			order, animal = animal, order
		}
		if animal.Type != petUpdated || kindOf[order.Type] == "" || order.Item.PetID != animal.Item.ID {
			continue
		}
		expected := *animal.Before
		if expected.Status = petStatus[kindOf[order.Type]]; animal.Item == expected {
			return n
		}
	}
	return -1
}

// operand returns the id of the animal or the category in the request that has made the change, or for a new animal the
// negative of its shelf.
func (c *Change) operand() int64 {
	switch {
	case c.Type == petAdded:
		return -int64(c.Item.Shelf)
	case c.Item.PetID != 0:
		return c.Item.PetID
	case c.Category != nil:
		return c.Category.ID
	}
	return c.Item.ID
}

// mayCause reports whether an operation may have made a change.
func (f *feed) mayCause(op *Operation, c *Change) bool {
	if op.Code != ok && op.Code != "" && (op.Code != unavailable || !f.Uncertain) && !op.removedBefore() {
		return false
	}
	switch c.Type {
	case petAdded:
		n := c.Item.Animal - op.Animal
		return op.Kind == Add && op.Shelf == c.Item.Shelf && n >= 0 && n < len(op.Pets) && op.Pets[n] == c.Item.Fields &&
			(op.Code != ok || op.Items[n].ID == c.Item.ID)
	case petUpdated:
		return op.Kind == Correct && op.Patch.apply(c.Before.Fields) == c.Item.Fields && (op.Code != ok || op.Items[0] == c.Item)
	case petRemoved:
		return op.Kind == Remove
	case categoryNamed:
		return op.Kind == NameCategory && op.Name == c.Category.Name
	case categoryRemoved:
		return op.Kind == UnnameCategory
	case orderPlaced:
		return op.Kind == Order && (op.Code != ok || op.Items[0].ID == c.Item.ID)
	}
	return op.Kind == kindOf[c.Type] && op.OrderID == c.Item.ID
}
