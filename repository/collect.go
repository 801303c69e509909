package repository

import (
	"cmp"
	"context"
	"maps"
	"slices"
	"time"

	"example.com/petstore/domain"
	"example.com/petstore/internal/engine"
	"example.com/petstore/internal/record"
)

// A collector collects what a transaction changes. Before the commit, write inserts the animals and the claims of all
// calls together, and writes the changes, the numbers of animals of each category, and the state of the store.
type collector struct {
	engine.State              // as it is after the transaction
	before       engine.State // as it was before
	added        []domain.Pet // the animals that are not inserted yet
	claims       []*claimModel
	changes      []changeModel
	counts       map[int64]*deltas // what is added to the numbers of each category
	err          error
}

func newCollector(state engine.State) collector {
	return collector{State: state, before: state, counts: map[int64]*deltas{}}
}

// add adds a change of the caller in ctx.
func (c *collector) add(ctx context.Context, changeType domain.ChangeType, records domain.ChangedRecords) {
	c.Position = max(c.Position, c.Altered) + 1
	if changeType != domain.ChangePetAdded && changeType != domain.ChangeOrderPlaced {
		c.Altered = c.Position
	}
	encoded, err := record.AppendRecords(make([]byte, 0, record.Size+16), records)
	c.err = cmp.Or(c.err, err)
	c.changes = append(c.changes, changeModel{
		Seq: c.Position, Type: string(changeType), Caller: domain.CallerOf(ctx), Records: string(encoded),
	})
	switch {
	case records.Before != nil:
		c.count(*records.Before, -1)
		c.count(*records.Pet, 1)
	case changeType == domain.ChangePetRemoved:
		c.count(*records.Pet, -1)
	case records.Pet != nil:
		c.count(*records.Pet, 1)
	}
}

// deltas are what is added to the numbers of a category.
type deltas struct {
	categoryModel
	repaired bool // the numbers were wrong before, so they may be zero afterwards whatever is added
}

// count adds n to the numbers of animals that have the category and the status of pet.
func (c *collector) count(pet domain.Pet, n int64) {
	category := c.countsOf(pet.CategoryID)
	ofCategory, ofAll := &category.None, &c.None
	switch pet.Status {
	case domain.PetAvailable:
		ofCategory, ofAll = &category.Available, &c.Available
	case domain.PetPending:
		ofCategory, ofAll = &category.Pending, &c.Pending
	case domain.PetSold:
		ofCategory, ofAll = &category.Sold, &c.Sold
	}
	*ofCategory += n
	*ofAll += n
}

// countsOf returns what is added to the numbers of a category.
func (c *collector) countsOf(id int64) *deltas {
	category := c.counts[id]
	if category == nil {
		category = &deltas{categoryModel: categoryModel{ID: id}}
		c.counts[id] = category
	}
	return category
}

var (
	insertPets = newInsert("pets", "id, name, name_key, category_id, status", "")
	// Claim has deleted an expired claim with the same key: with ON CONFLICT, a POST with a key would take 4 % longer on
	// PostgreSQL.
	insertClaims  = newInsert("idempotency_keys", "caller, value, fingerprint, result, claimed_at", "")
	insertChanges = newInsert("changes", "seq, type, at, caller, records", "")
	addCounts     = newInsert("categories", "id, available, pending, sold, none", ` ON CONFLICT (id) DO UPDATE SET
		available = categories.available + excluded.available, pending = categories.pending + excluded.pending,
		sold = categories.sold + excluded.sold, none = categories.none + excluded.none`)
)

// deleteEmpty deletes a category that has neither a name nor an animal.
const deleteEmpty = "DELETE FROM categories WHERE id = $1 AND name = '' AND available = 0 AND pending = 0 AND sold = 0 AND none = 0"

// insertAdded inserts the animals that are not inserted yet.
func (c *collector) insertAdded(tx engine.Tx) error {
	pets := c.added
	c.added = nil
	c.err = cmp.Or(c.err, insertPets.rows(tx, len(pets), func(i int, to []any) []any {
		pet := pets[i]
		return append(to, pet.ID, pet.Name, domain.FoldName(pet.Name), pet.CategoryID, string(pet.Status))
	}))
	return c.err
}

// write writes what was collected, as changes that were made at a time.
func (c *collector) write(tx engine.Tx, at time.Time) error {
	if err := c.insertAdded(tx); err != nil {
		return err
	}
	if err := insertClaims.rows(tx, len(c.claims), func(i int, to []any) []any {
		m := c.claims[i]
		return append(to, m.Caller, m.Value, m.Fingerprint, m.Result, m.ClaimedAt)
	}); err != nil { // SQLite may have ended the transaction: each further statement would commit by itself
		return err
	}
	if c.State == c.before {
		return nil
	}
	if err := insertChanges.rows(tx, len(c.changes), func(i int, to []any) []any {
		m := c.changes[i]
		return append(to, m.Seq, m.Type, at.UnixMilli(), m.Caller, m.Records)
	}); err != nil {
		return err
	}
	ids := slices.Sorted(maps.Keys(c.counts))
	ids = slices.DeleteFunc(ids, func(id int64) bool { return c.counts[id].categoryModel == categoryModel{ID: id} })
	if err := addCounts.rows(tx, len(ids), func(i int, to []any) []any {
		m := c.counts[ids[i]]
		return append(to, m.ID, m.Available, m.Pending, m.Sold, m.None)
	}); err != nil {
		return err
	}
	for _, id := range ids {
		if m := c.counts[id]; m.repaired || min(m.Available, m.Pending, m.Sold, m.None) < 0 {
			if err := tx.Queue(deleteEmpty, id); err != nil {
				return err
			}
		}
	}
	return tx.Queue(engine.UpdateState, c.Values()...)
}
