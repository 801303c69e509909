package repository

import (
	"context"
	"database/sql"
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"strings"

	"gorm.io/gorm"

	"example.com/petstore/domain"
	"example.com/petstore/internal/engine"
)

// A Difference is a contradiction in a store, such as SQL by hand leaves. Text says in one line what differs. If Repair
// cannot correct it, the line ends with the remedy.
type Difference struct {
	Text   string
	repair func(context.Context, *transaction) error // nil if Repair cannot correct it
}

// Repairable reports whether Repair can correct the difference.
func (d Difference) Repairable() bool { return d.repair != nil }

// comparisons compare parts of a store, in the order in which Repair corrects them.
var comparisons = []func(*gorm.DB) ([]Difference, error){compareChanges, compareIDs, compareNames, compareCounts, compareOrders}

// Check checks the database for damage, and then compares the parts of the store with each other, in one snapshot. If the
// database is damaged, it does not compare them. omitted says what could not be checked, and why; it is empty otherwise.
func (s *Store) Check(ctx context.Context) (found []Difference, omitted string, err error) {
	damage, omitted, err := s.database.CheckIntegrity(ctx)
	if err != nil {
		return nil, "", s.report(domain.Unavailable(err))
	}
	for _, text := range damage {
		found = append(found, Difference{Text: text})
	}
	if len(found) > 0 {
		return found, omitted, nil
	}
	err = s.readers.readAll(ctx, func(db *gorm.DB) error {
		db.Statement.ConnPool = db.ConnPool // a pool that creates spans begins no transaction
		snapshot := db.Begin(&sql.TxOptions{Isolation: sql.LevelRepeatableRead, ReadOnly: true})
		defer snapshot.Rollback()
		if snapshot.Error != nil {
			return snapshot.Error
		}
		found, err = compare(snapshot)
		return err
	})
	return found, omitted, err
}

// Repair compares the parts of the store as Check does, and corrects what it can, in one transaction, also while other
// processes use the store. It returns what it has found. The corrections of animals are changes of the caller in ctx.
func (s *Store) Repair(ctx context.Context) (found []Difference, err error) {
	return found, s.errorOf(s.queue.Do(ctx, func(ctx context.Context, t *transaction) (err error) {
		if found, err = compare(t.db.WithContext(ctx)); err != nil {
			return err
		}
		if !slices.ContainsFunc(found, Difference.Repairable) {
			return nil
		}
		t.wrote()
		t.Altered = max(t.Altered, t.Position) + 1 // so that no page in memory is used again
		for _, difference := range found {
			if !difference.Repairable() {
				continue
			}
			if err := difference.repair(ctx, t); err != nil {
				return err
			}
		}
		return nil
	}))
}

func compare(db *gorm.DB) (found []Difference, err error) {
	for _, comparison := range comparisons {
		differences, err := comparison(db)
		if err != nil {
			return nil, err
		}
		found = append(found, differences...)
	}
	return found, nil
}

// compareChanges compares the changes with the positions of the store.
func compareChanges(db *gorm.DB) ([]Difference, error) {
	var kept struct{ Position, KeptAfter, Oldest, Newest int64 }
	err := db.Table("store").Select(`position, kept_after, COALESCE((SELECT min(seq) FROM changes), kept_after + 1) AS oldest,
		COALESCE((SELECT max(seq) FROM changes), kept_after) AS newest`).Take(&kept).Error
	if err != nil || kept.Newest == kept.Position && kept.Oldest > kept.KeptAfter {
		return nil, err
	}
	return []Difference{{
		fmt.Sprintf("the changes are from %d to %d, but should be from %d to %d", kept.Oldest, kept.Newest, kept.KeptAfter+1, kept.Position),
		func(ctx context.Context, t *transaction) error { return t.beginChanges(ctx, kept.Newest) },
	}}, nil
}

// beginChanges deletes all changes. New ones begin at a position that nobody has used, so that whoever follows the changes
// reads the lists again. newest is the greatest position that the table has.
func (t *transaction) beginChanges(ctx context.Context, newest int64) error {
	t.Position = max(t.Position, t.Altered, newest) + 1 + rand.Int64N(1<<40) //nolint:gosec // nobody gains from guessing it
	t.Altered, t.KeptAfter = t.Position, t.Position
	return t.queue(ctx, func(db *gorm.DB) *gorm.DB { return db.Where("seq IS NOT NULL").Delete(&changeModel{}) })
}

// compareIDs compares the greatest ids with the last ones that were given out.
func compareIDs(db *gorm.DB) (found []Difference, err error) {
	var last engine.State
	if err := db.Table("store").Take(&last).Error; err != nil {
		return nil, err
	}
	for _, ids := range []struct {
		model  any
		record string
		given  int64
		of     func(*engine.State) *int64
	}{
		{&petModel{}, "animal", last.LastPet, func(n *engine.State) *int64 { return &n.LastPet }},
		{&orderModel{}, "order", last.LastOrder, func(n *engine.State) *int64 { return &n.LastOrder }},
		{&keyModel{}, "API key", last.LastKey, func(n *engine.State) *int64 { return &n.LastKey }},
	} {
		var greatest int64
		if err := db.Model(ids.model).Select("COALESCE(max(id), 0)").Find(&greatest).Error; err != nil {
			return nil, err
		}
		if greatest > ids.given {
			found = append(found, Difference{
				fmt.Sprintf("there is the %s %d, but the last id that was given out is %d", ids.record, greatest, ids.given),
				func(_ context.Context, t *transaction) error {
					*ids.of(&t.State) = greatest
					return nil
				},
			})
		}
	}
	return found, nil
}

// compareNames compares the names of animals with the texts by which a search finds them.
func compareNames(db *gorm.DB) (found []Difference, err error) {
	keys := map[int64]string{}
	var id int64
	var name, key string
	err = scan(db.Model(&petModel{}).Select("id, name, name_key").Order("id"), []any{&id, &name, &key}, func() error {
		if folded := domain.FoldName(name); folded != key {
			keys[id] = folded
		}
		return nil
	})
	if err != nil || len(keys) == 0 {
		return nil, err
	}
	return []Difference{{
		fmt.Sprintf("a search does not find these animals by their names: %s", firstOf(slices.Sorted(maps.Keys(keys)))),
		func(ctx context.Context, t *transaction) error {
			for id, key := range keys {
				err := t.queue(ctx, func(db *gorm.DB) *gorm.DB { return db.Model(&petModel{ID: id}).Update("name_key", key) })
				if err != nil {
					return err
				}
			}
			return nil
		},
	}}, nil
}

// firstOf returns the first ids of a list as a text, and how many more there are.
func firstOf(ids []int64) string {
	const most = 5
	text := strings.Trim(fmt.Sprint(ids[:min(len(ids), most)]), "[]")
	if len(ids) > most {
		text += fmt.Sprintf(", and %d more", len(ids)-most)
	}
	return text
}

// What must be added to the numbers of animals. The id is the category.
const (
	countPets = `count(*) FILTER (WHERE status = 'available') AS available, count(*) FILTER (WHERE status = 'pending') AS pending,
		count(*) FILTER (WHERE status = 'sold') AS sold, count(*) FILTER (WHERE status = '') AS none FROM pets`
	sumCounts = `CAST(sum(available) AS BIGINT) AS available, CAST(sum(pending) AS BIGINT) AS pending,
		CAST(sum(sold) AS BIGINT) AS sold, CAST(sum(none) AS BIGINT) AS none`
	missingInAll = "SELECT " + sumCounts + " FROM (SELECT " + countPets + ` UNION ALL
		SELECT -available, -pending, -sold, -none FROM store) AS counted`
	missingInCategories = "SELECT id, " + sumCounts + " FROM (SELECT category_id AS id, " + countPets + ` GROUP BY category_id UNION ALL
		SELECT id, -available, -pending, -sold, -none FROM categories) AS counted GROUP BY id
		HAVING sum(available) <> 0 OR sum(pending) <> 0 OR sum(sold) <> 0 OR sum(none) <> 0 ORDER BY id`
)

// compareCounts compares the numbers of animals with the animals.
func compareCounts(db *gorm.DB) (found []Difference, err error) {
	var ofAll categoryModel
	var ofCategories []categoryModel
	if err := db.Raw(missingInAll).Find(&ofAll).Error; err != nil {
		return nil, err
	}
	if err := db.Raw(missingInCategories).Find(&ofCategories).Error; err != nil {
		return nil, err
	}
	if ofAll != (categoryModel{}) {
		found = append(found, Difference{
			"the numbers of all animals need " + ofAll.text(),
			func(_ context.Context, t *transaction) error {
				t.Available += ofAll.Available
				t.Pending += ofAll.Pending
				t.Sold += ofAll.Sold
				t.None += ofAll.None
				return nil
			},
		})
	}
	for _, missing := range ofCategories {
		found = append(found, Difference{
			fmt.Sprintf("the numbers of the category %d need %s", missing.ID, missing.text()),
			func(_ context.Context, t *transaction) error {
				category := t.countsOf(missing.ID)
				category.Available += missing.Available
				category.Pending += missing.Pending
				category.Sold += missing.Sold
				category.None += missing.None
				category.repaired = true
				return nil
			},
		})
	}
	return found, nil
}

// text returns what must be added to the numbers of a category, such as "1 pending more, 2 sold fewer".
func (m categoryModel) text() string {
	var parts []string
	for _, part := range []struct {
		status string
		n      int64
	}{{"available", m.Available}, {"pending", m.Pending}, {"sold", m.Sold}, {"without a status", m.None}} {
		switch {
		case part.n > 0:
			parts = append(parts, fmt.Sprintf("%d %s more", part.n, part.status))
		case part.n < 0:
			parts = append(parts, fmt.Sprintf("%d %s fewer", -part.n, part.status))
		}
	}
	return strings.Join(parts, ", ")
}

// compareOrders compares the status of animals with their orders: it is pending while an order is placed, and sold once the
// order is delivered. Without such an order, an animal may have any status, as the client has set it.
func compareOrders(db *gorm.DB) (found []Difference, err error) {
	var order orderModel
	var status sql.NullString
	query := db.Model(&orderModel{}).Select("orders.id, orders.pet_id, orders.status, pets.status").
		Joins("LEFT JOIN pets ON pets.id = orders.pet_id").Order("orders.id").
		Where(`orders.status = 'placed' AND (pets.id IS NULL OR pets.status <> 'pending')
			OR orders.status = 'delivered' AND (pets.id IS NULL OR pets.status <> 'sold')`)
	err = scan(query, []any{&order.ID, &order.PetID, &order.Status, &status}, func() error {
		about := fmt.Sprintf("the order %d is %s, but its animal %d ", order.ID, order.Status, order.PetID)
		if !status.Valid {
			found = append(found, Difference{Text: about + "is missing: restore a backup that has it"})
			return nil
		}
		id, want := order.PetID, domain.PetPending
		if order.Status == string(domain.OrderDelivered) {
			want = domain.PetSold
		}
		about += "is " + status.String
		if status.String == "" {
			about += "without a status"
		}
		found = append(found, Difference{about, func(ctx context.Context, t *transaction) error {
			before, err := pets{t}.Get(ctx, id)
			if err != nil {
				return err
			}
			after := before
			after.Status = want
			return pets{t}.Update(ctx, before, after)
		}})
		return nil
	})
	return found, err
}
