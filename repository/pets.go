package repository

import (
	"context"
	"slices"

	"gorm.io/gorm"

	"example.com/petstore/domain"
	"example.com/petstore/repository/engine"
)

// pets implements port.PetRepository.
type pets struct{ reader[domain.Pet] }

func (p pets) Get(ctx context.Context, id int64) (domain.Pet, error) {
	return p.get(ctx, id, domain.PetNotFound)
}

func (p pets) List(ctx context.Context, q domain.PetQuery) (domain.Page[domain.Pet], error) {
	if q.IDs != nil {
		rows := p.rows
		rows.Newest = q.Newest
		found, err := p.read(ctx, rows, q.IDs...)
		return domain.Page[domain.Pet]{Items: slices.DeleteFunc(found, func(pet domain.Pet) bool { return !q.Selects(pet) })}, err
	}
	return p.page(ctx, p.rowsOf(q), q.PageRequest)
}

// rowsOf returns the rows of the animals that match the filters of a query.
func (p pets) rowsOf(q domain.PetQuery) engine.Rows {
	rows := p.rows
	if q.CategoryID == nil {
		rows.NullStatus = true
		return withStatuses(rows, "status", q.Statuses) // the column of the index pets_status_id
	}
	rows.Column, rows.Value = "category_id", *q.CategoryID
	if len(q.Statuses) == 0 { // all statuses: pets_category_id_status_id is ordered by id only within a status
		q.Statuses = append(domain.PetStatuses(), "")
	}
	return withStatuses(rows, "COALESCE(status, '')", q.Statuses)
}

func (p pets) Inventory(ctx context.Context, categoryID *int64) (domain.Inventory, error) {
	query := p.db.WithContext(ctx).Table("pet_totals")
	if categoryID != nil {
		query = p.db.WithContext(ctx).Table("pet_counts").Where("category_id = ?", *categoryID)
	}
	var model inventoryModel
	err := query.Take(&model).Error
	return domain.Inventory(model), notFoundAs(err, nil)
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

func (p pets) Replace(ctx context.Context, from, to domain.Pet) (bool, error) {
	model := petModel(newPetRow(to.New()))
	return changedOne(p.as(ctx, from).Select("name", "category_id", "status").Updates(&model), p.tx.MarkChanged)
}

func (p pets) Remove(ctx context.Context, pet domain.Pet) (bool, error) {
	return changedOne(p.as(ctx, pet).Delete(&petModel{}), p.tx.MarkChanged)
}

// as limits a statement to the row with the id of pet, if the row still equals pet.
func (p pets) as(ctx context.Context, pet domain.Pet) *gorm.DB {
	const same = "id = ? AND name = ? AND category_id = ? AND COALESCE(status, '') = ?"
	return p.db.WithContext(ctx).Where(same, pet.ID, pet.Name, pet.CategoryID, pet.Status)
}
