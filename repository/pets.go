package repository

import (
	"context"
	"errors"
	"math"

	"gorm.io/gorm"

	"example.com/petstore/domain"
)

// petReader implements port.PetReader.
type petReader struct{ reader[domain.Pet] }

func (p petReader) List(ctx context.Context, q domain.PetQuery) (domain.Page[domain.Pet], error) {
	if q.IDs != nil {
		return p.pageByID(ctx, q.IDs, q.Newest, q.Selects)
	}
	f := filterOf("category_id", q.CategoryID, q.Statuses, append(domain.PetStatuses(), ""))
	if q.Text != "" {
		f.text = domain.FoldName(q.Text)
		return p.searchPage(ctx, f, q.PageRequest)
	}
	return p.page(ctx, f, q.PageRequest)
}

func (p petReader) Inventory(ctx context.Context, categoryID *int64) (inventory domain.Inventory, err error) {
	err = p.read(ctx, func(db *gorm.DB) error {
		query := db.Table("store").Select("store.position, store.available, store.pending, store.sold, store.none")
		if categoryID != nil {
			query = db.Table("store").Joins("LEFT JOIN categories ON categories.id = ?", *categoryID).Select(`store.position,
				COALESCE(categories.available, 0) AS available, COALESCE(categories.pending, 0) AS pending,
				COALESCE(categories.sold, 0) AS sold, COALESCE(categories.none, 0) AS none`)
		}
		return query.Take(&inventory).Error
	})
	return inventory, err
}

func (p petReader) Count(ctx context.Context, status domain.PetStatus) (n int64, err error) {
	err = p.readAll(ctx, func(db *gorm.DB) error { return withStatus(db.Model(&petModel{}), status).Count(&n).Error })
	return n, err
}

func (p petReader) Each(ctx context.Context, status domain.PetStatus, fn func(domain.Pet) error) error {
	return p.readAll(ctx, func(db *gorm.DB) error { return eachOf(withStatus(db, status), &petModel{}, "id", fn) })
}

// pets implements port.PetRepository.
type pets struct{ *transaction }

func (p pets) Get(ctx context.Context, id int64) (domain.Pet, error) {
	if err := p.insertIfAdded(id); err != nil {
		return domain.Pet{}, err
	}
	return petTable.take(p.db.WithContext(ctx), p.ahead.pets, id)
}

func (p pets) Create(ctx context.Context, news []domain.NewPet) ([]domain.Pet, error) {
	if int64(len(news)) > math.MaxInt64-p.LastPet {
		return nil, errors.New("all ids of animals are given out")
	}
	if err := p.collects(); err != nil {
		return nil, err
	}
	created := make([]domain.Pet, len(news))
	for i, pet := range news {
		p.LastPet++
		created[i] = pet.WithID(p.LastPet)
		p.add(ctx, domain.ChangePetAdded, domain.ChangedRecords{Pet: &created[i]})
	}
	p.added = append(p.added, created...)
	return created, nil
}

// insertIfAdded inserts the animals that this transaction has added, before a statement about one of them.
func (p pets) insertIfAdded(id int64) error {
	if id <= p.before.LastPet {
		return nil
	}
	return translate(p.db, p.insertAdded(p.begun))
}

func (p pets) Update(ctx context.Context, before, after domain.Pet) error {
	if err := p.insertIfAdded(after.ID); err != nil {
		return err
	}
	changed := make(map[string]any, 4) // SQLite writes an index anew whenever one of its columns is named
	if after.Name != before.Name {
		changed["name"], changed["name_key"] = after.Name, domain.FoldName(after.Name)
	}
	if after.CategoryID != before.CategoryID {
		changed["category_id"] = after.CategoryID
	}
	if after.Status != before.Status {
		changed["status"] = string(after.Status)
	}
	if err := p.queue(ctx, func(db *gorm.DB) *gorm.DB { return db.Model(&petModel{ID: after.ID}).Updates(changed) }); err != nil {
		return err
	}
	p.add(ctx, domain.ChangePetUpdated, domain.ChangedRecords{Pet: &after, Before: &before})
	return nil
}

func (p pets) Remove(ctx context.Context, pet domain.Pet) error {
	if err := p.insertIfAdded(pet.ID); err != nil {
		return err
	}
	if err := p.queue(ctx, func(db *gorm.DB) *gorm.DB { return db.Delete(&petModel{ID: pet.ID}) }); err != nil {
		return err
	}
	p.add(ctx, domain.ChangePetRemoved, domain.ChangedRecords{Pet: &pet})
	return nil
}
