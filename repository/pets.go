package repository

import (
	"context"

	"example.com/petstore/domain"
)

// pets implements domain.PetRepository.
type pets struct {
	session
	effects *effects // of the transaction, nil outside one
}

type petRow struct {
	ID         int64
	Name       string
	CategoryID int64
	Status     *domain.PetStatus
}

func (petRow) TableName() string { return "pets" }

func newPetRow(pet domain.NewPet) petRow {
	row := petRow{Name: pet.Name, CategoryID: pet.CategoryID}
	if pet.Status != "" {
		row.Status = &pet.Status
	}
	return row
}

func (r petRow) pet() domain.Pet {
	pet := domain.Pet{ID: r.ID, Name: r.Name, CategoryID: r.CategoryID}
	if r.Status != nil {
		pet.Status = *r.Status
	}
	return pet
}

const selectPets = "SELECT id, name, category_id, COALESCE(status, '') FROM pets"

func petOf(r *row) domain.Pet {
	return domain.Pet{ID: r.int(0), Name: r.text(1), CategoryID: r.int(2), Status: domain.PetStatus(r.text(3))}
}

func (p pets) Get(ctx context.Context, id int64) (domain.Pet, error) {
	return readOne(ctx, p.session, petOf, domain.PetNotFound(id), selectPets+" WHERE id = ?", id)
}

func (p pets) List(ctx context.Context, q domain.PetQuery) (domain.Page[domain.Pet], error) {
	var conditions []condition
	if q.Status != "" {
		conditions = append(conditions, condition{"status = ?", string(q.Status)})
	}
	return list(ctx, p.session, selectPets, q.PageRequest, petOf, conditions...)
}

func (p pets) Create(ctx context.Context, pet domain.NewPet) (domain.Pet, error) {
	p.effects.insert()
	inserted, err := p.exec(ctx, // and not RETURNING, which goes through a table of its own
		"INSERT INTO pets (name, category_id, status) VALUES (?, ?, NULLIF(?, ''))",
		pet.Name, pet.CategoryID, string(pet.Status),
	)
	if err != nil {
		return domain.Pet{}, translate(err)
	}
	id, err := inserted.LastInsertId()
	return domain.Pet{ID: id, Name: pet.Name, CategoryID: pet.CategoryID, Status: pet.Status}, err
}

// rowsPerInsert is the length of a multi-row INSERT. Each length is a statement of
// its own to the driver's cache, so all have this one but the last; it stays far
// below SQLite's 32,766 variables, and a longer one is not faster.
const rowsPerInsert = 250

func (p pets) CreateAll(ctx context.Context, pets []domain.NewPet) ([]domain.Pet, error) {
	p.effects.insert()
	rows := make([]petRow, len(pets))
	for i, pet := range pets {
		rows[i] = newPetRow(pet)
	}
	if err := p.db.WithContext(ctx).CreateInBatches(rows, rowsPerInsert).Error; err != nil {
		return nil, translate(err)
	}
	added := make([]domain.Pet, len(rows))
	for i, row := range rows {
		added[i] = row.pet()
	}
	return added, nil
}

func (p pets) Move(ctx context.Context, id int64, from []domain.PetStatus, to domain.PetStatus) (bool, error) {
	moved := p.db.WithContext(ctx).Model(&petRow{}).
		Where("id = ? AND COALESCE(status, '') IN ?", id, from).Update("status", to)
	p.effects.change(moved.RowsAffected)
	return moved.RowsAffected == 1, translate(moved.Error)
}
