package linearizability

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"
)

// An acknowledgement is the position that includes what a response has acknowledged.
type acknowledgement struct {
	at       time.Duration
	position int64
	op       *Operation
}

// checkPositions checks all responses against the changes.
func (f *feed) checkPositions() {
	var all []acknowledgement
	made, byCommands := 0, []int64{}
	for _, c := range f.Changes {
		if strings.HasPrefix(c.Caller, "command:") {
			byCommands = append(byCommands, c.Seq)
		}
	}
	for i := range f.operations {
		op := &f.operations[i]
		if op.Code != ok || op.onlyReads() {
			continue
		}
		if op.Kind == Command {
			if made += op.Changes; made > len(byCommands) {
				f.problem("commands have made %d changes at %v, the feed has %d", made, op.Return, len(byCommands))
			} else if made > 0 {
				all = append(all, acknowledgement{op.Return + maxAge, byCommands[made-1], op})
			}
			continue
		}
		position, found := f.acknowledged(op)
		if !found {
			f.problem("%s was acknowledged at %v, but is not among the changes", describe(op), op.Return)
		}
		all = append(all, acknowledgement{op.Return, position, op})
	}
	slices.SortStableFunc(all, func(a, b acknowledgement) int { return cmp.Compare(a.at, b.at) })
	for i := 1; i < len(all); i++ { // all[i].position becomes the latest of those until then
		if all[i-1].position > all[i].position {
			all[i].position, all[i].op = all[i-1].position, all[i-1].op
		}
	}
	for i := range f.operations {
		op := &f.operations[i]
		if op.Code != ok || !op.onlyReads() || op.Stale {
			continue
		}
		before, _ := slices.BinarySearchFunc(all, op.Call, func(a acknowledgement, at time.Duration) int { return cmp.Compare(a.at, at) })
		switch {
		case op.Position == 0:
			if !f.Uncertain {
				f.problem("%s has no position", describeRead(op))
			}
		case op.Position < f.first || op.Position > f.Changes[len(f.Changes)-1].Seq:
			f.problem("%s has the position %d, which the store has never had", describeRead(op), op.Position)
		case before > 0 && op.Position < all[before-1].position:
			f.problem("%s, sent at %v, has the position %d, but at %v the change %d was acknowledged: %s",
				describeRead(op), op.Call, op.Position, all[before-1].at, all[before-1].position, describe(all[before-1].op))
		default:
			f.checkContent(op)
		}
	}
}

// acknowledged returns the earliest position that includes what a write has returned.
func (f *feed) acknowledged(op *Operation) (position int64, found bool) {
	if op.Kind == Remove {
		revisions := f.records[recordID{false, op.ID}]
		if n := len(revisions); n > 0 && revisions[n-1].item == nil {
			return revisions[n-1].from, true
		}
		return 0, false
	}
	if op.Kind == NameCategory || op.Kind == UnnameCategory {
		before := ""
		for _, v := range f.categories[op.ID] {
			if v.Name == op.Name && v.Name != before {
				return v.from, true
			}
			before = v.Name
		}
		return 0, false
	}
	found = true
	for _, item := range op.Items {
		revisions := f.records[recordID{item.PetID != 0, item.ID}]
		i := slices.IndexFunc(revisions, func(v revision) bool { return v.item != nil && *v.item == item })
		if i < 0 {
			return 0, false
		}
		position = max(position, revisions[i].from)
		if pair := f.pairOf(int(position - f.first - 1)); item.PetID != 0 && pair >= 0 {
			position = max(position, f.Changes[pair].Seq)
		}
	}
	return position, found
}

// checkContent checks that a response shows the store at its position or later: counts and categories at its position, all
// records of a page at one position. No request may have been sent after the response without which that position is impossible.
func (f *feed) checkContent(op *Operation) {
	if op.Kind == Count {
		if want := f.category(cmp.Or(op.Query.Category, allCategories), op.Position).Counts; op.Counts != want {
			f.problem("%s counts %v at the position %d, where there are %v", describeRead(op), op.Counts, op.Position, want)
		}
		return
	}
	if op.Kind == ListCategories {
		if want, more := f.categoryPage(op.Query, op.Position); more != op.More || !slices.Equal(op.Categories, want) {
			f.problem("%s has %+v at the position %d, where there are %+v", describeRead(op), op.Categories, op.Position, want)
		}
		return
	}
	isOrder := op.Kind == ListOrders || op.Kind == GetOrder
	seen := map[int64]*Item{} // nil for a record that the response does not show
	if op.isList() {
		for _, id := range op.ids(f.ids[isOrder]) {
			seen[id] = nil
		}
	}
	for i := range op.Items {
		seen[op.Items[i].ID] = &op.Items[i]
	}
	position := op.Position
	for settled := false; !settled; {
		settled = true
		for id, want := range seen {
			next, possible := f.next(recordID{isOrder, id}, position, func(item *Item) bool {
				if want == nil {
					return item == nil || !op.Query.shows(*item)
				}
				return item != nil && *item == *want
			})
			if !possible {
				f.problem("%s has the position %d, but from there on %+v is not possible for the record %d", describeRead(op), op.Position, want, id)
				return
			}
			if next > position {
				position, settled = next, false
			}
		}
	}
	if begun := f.begun[position-f.first]; begun > op.Return {
		f.problem("%s, read at %v, shows the change %d, which was requested at %v", describeRead(op), op.Return, position, begun)
	}
}

// next returns the first position from a position on at which a record is as expected.
func (f *feed) next(id recordID, from int64, isExpected func(*Item) bool) (position int64, possible bool) {
	if isExpected(f.at(id, from)) {
		return from, true
	}
	for _, v := range f.records[id] {
		if v.from > from && isExpected(v.item) {
			return v.from, true
		}
	}
	return 0, false
}

// shows reports whether the query selects a record whose id is in its range.
func (q Query) shows(i Item) bool {
	return (q.Statuses == "" || slices.Contains(strings.Split(q.Statuses, ","), cmp.Or(i.Status, "none"))) &&
		(q.Category == 0 || q.Category == i.category()) && (q.PetID == 0 || q.PetID == i.PetID)
}

func describeRead(op *Operation) string {
	text := pathOf(op)
	if op.NotModified {
		text += " (not modified)"
	}
	return fmt.Sprintf("%s by client %d", text, op.Client)
}
