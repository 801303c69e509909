package repository

import (
	"context"
	"errors"

	"gorm.io/gorm"

	"example.com/petstore/domain"
)

// pets implements domain.PetRepository.
type pets struct {
	db      *gorm.DB
	effects *effects // of the transaction, nil outside one
}

type petRow struct {
	ID         int64
	Name       string
	CategoryID int64
	Status     *domain.PetStatus
}

func (petRow) TableName() string { return "pets" }

func (r petRow) pet() domain.Pet {
	pet := domain.Pet{ID: r.ID, Name: r.Name, CategoryID: r.CategoryID}
	if r.Status != nil {
		pet.Status = *r.Status
	}
	return pet
}

func (p pets) Get(ctx context.Context, id int64) (domain.Pet, error) {
	var row petRow
	err := p.db.WithContext(ctx).Take(&row, id).Error
	if errors.Is(err, gorm.ErrRecordNotFound) {
		return domain.Pet{}, domain.PetNotFound(id)
	}
	return row.pet(), translate(err)
}

func (p pets) List(ctx context.Context, q domain.PetQuery) (domain.Page[domain.Pet], error) {
	query := p.db.WithContext(ctx)
	if q.Status != "" {
		query = query.Where("status = ?", q.Status)
	}
	return list(query, q.PageRequest, petRow.pet)
}

func (p pets) Create(ctx context.Context, pet domain.NewPet) (domain.Pet, error) {
	p.effects.added = true
	row := petRow{Name: pet.Name, CategoryID: pet.CategoryID}
	if pet.Status != "" {
		row.Status = &pet.Status
	}
	err := p.db.WithContext(ctx).Create(&row).Error
	return row.pet(), translate(err)
}

func (p pets) Move(ctx context.Context, id int64, from []domain.PetStatus, to domain.PetStatus) (bool, error) {
	p.effects.changed = true
	moved := p.db.WithContext(ctx).Model(&petRow{}).
		Where("id = ? AND COALESCE(status, '') IN ?", id, from).Update("status", to)
	return moved.RowsAffected == 1, translate(moved.Error)
}
