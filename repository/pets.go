package repository

import (
	"context"
	"strings"

	"gorm.io/gorm"

	"example.com/petstore/domain"
	"example.com/petstore/repository/engine"
)

// pets implements port.PetRepository.
type pets struct {
	session
	shared *sharedReads[domain.Pet] // nil in a transaction, and on an engine that is no engine.SharedReader
}

func (p pets) Get(ctx context.Context, id int64) (domain.Pet, error) {
	if p.shared != nil {
		return p.shared.get(ctx, id, domain.PetNotFound)
	}
	var model petModel
	if err := p.db.WithContext(ctx).Where("id = ?", id).Take(&model).Error; err != nil {
		return domain.Pet{}, notFoundAs(err, domain.PetNotFound(id))
	}
	return model.record()
}

func (p pets) List(ctx context.Context, q domain.PetQuery) (domain.Page[domain.Pet], error) {
	switch {
	case p.shared != nil:
		return p.shared.list(ctx, string(q.Status), q.CategoryID, q.PageRequest)
	case q.CategoryID != nil:
		return list(ctx, p.ofCategory(q), q.PageRequest, &petModel{})
	}
	return list(ctx, withStatus(p.db, q.Status), q.PageRequest, &petModel{})
}

// ofCategory limits a query to the animals of q.CategoryID after q.After: to those of each status, which the
// index pets_category_id_status_id has in the order of ids, so that the database merges the first ones.
func (p pets) ofCategory(q domain.PetQuery) *gorm.DB {
	statuses := []domain.PetStatus{q.Status}
	if q.Status == "" {
		statuses = append(domain.PetStatuses(), "")
	}
	parts := make([]any, len(statuses))
	for i, status := range statuses {
		parts[i] = p.db.Model(&petModel{}).Where("category_id = ? AND COALESCE(status, '') = ? AND id > ?", *q.CategoryID, status, q.After)
	}
	return p.db.Table("(?"+strings.Repeat(" UNION ALL ?", len(parts)-1)+") AS pets", parts...)
}

func (p pets) Count(ctx context.Context, status domain.PetStatus) (n int64, err error) {
	err = withStatus(p.db.WithContext(ctx).Model(&petModel{}), status).Count(&n).Error
	return n, err
}

func (p pets) Each(ctx context.Context, status domain.PetStatus, fn func(domain.Pet) error) error {
	return each(ctx, withStatus(p.db, status), &petModel{}, fn)
}

func (p pets) Create(ctx context.Context, news []domain.NewPet) ([]domain.Pet, error) {
	if len(news) == 0 {
		return nil, nil
	}
	p.tx.MarkAdded(int64(len(news)))
	rows := make([]engine.Pet, len(news))
	for i, pet := range news {
		rows[i] = newPetRow(pet)
	}
	if err := p.database.InsertPets(ctx, p.pool(), rows); err != nil {
		return nil, translate(p.db, err)
	}
	created := make([]domain.Pet, len(news))
	for i, pet := range news {
		created[i] = pet.WithID(rows[i].ID)
	}
	return created, nil
}

func (p pets) ChangeStatusIf(ctx context.Context, id int64, from []domain.PetStatus, to domain.PetStatus) (bool, error) {
	done := p.db.WithContext(ctx).Model(&petModel{}).Where("id = ? AND COALESCE(status, '') IN ?", id, from).Update("status", to)
	return changedOne(done, p.tx.MarkChanged)
}
