package repository

import (
	"context"
	"database/sql"
	"errors"

	"example.com/petstore/domain"
)

// pets implements domain.PetRepository.
type pets struct {
	session
	changes *changes // of the transaction, nil outside one
	inserts *coalesced[domain.NewPet, int64]
}

func newPets(s session, changes *changes, c *coalescer) pets {
	p := pets{session: s, changes: changes}
	p.inserts = newCoalesced(c, p.insertOne, p.insertMany)
	return p
}

// A petRow is a row of the table pets, for GORM.
type petRow struct {
	ID         int64
	Name       string
	CategoryID int64
	Status     *domain.PetStatus
}

func (petRow) TableName() string { return "pets" }

const selectPets = "SELECT id, name, category_id, COALESCE(status, '') FROM pets"

func scanPet(r *row) (pet domain.Pet, err error) {
	err = r.scan(&pet.ID, &pet.Name, &pet.CategoryID, (*string)(&pet.Status))
	return pet, err
}

func (p pets) Get(ctx context.Context, id int64) (domain.Pet, error) {
	pet, err := queryOne(ctx, p.session, scanPet, selectPets+" WHERE id = ?", id)
	if errors.Is(err, sql.ErrNoRows) {
		err = domain.PetNotFound(id)
	}
	return pet, err
}

func (p pets) List(ctx context.Context, q domain.PetQuery) (domain.Page[domain.Pet], error) {
	var conditions []condition
	if q.Status != "" {
		conditions = append(conditions, condition{"status = ?", string(q.Status)})
	}
	return list(ctx, p.session, scanPet, q.PageRequest, selectPets, conditions...)
}

func (p pets) Count(ctx context.Context, status domain.PetStatus) (int64, error) {
	return count(ctx, p.session, "pets", string(status))
}

func (p pets) Each(ctx context.Context, status domain.PetStatus, fn func(domain.Pet) error) error {
	return each(ctx, p.session, scanPet, selectPets, string(status), fn)
}

func (p pets) Create(ctx context.Context, pet domain.NewPet) (domain.Pet, error) {
	p.changes.markInserted()
	id, err := p.inserts.do(ctx, pet)
	return domain.Pet{ID: id, Name: pet.Name, CategoryID: pet.CategoryID, Status: pet.Status}, err
}

func (p pets) insertOne(ctx context.Context, pet domain.NewPet) (id int64, err error) {
	return p.insert(ctx, "INSERT INTO pets (name, category_id, status) VALUES (?, ?, NULLIF(?, ''))",
		pet.Name, pet.CategoryID, string(pet.Status))
}

// insertMany takes the ids from the sequence first: RETURNING promises no order of its rows.
func (p pets) insertMany(ctx context.Context, pets []domain.NewPet) (ids []int64, err error) {
	names, categories, statuses := make([]string, len(pets)), make([]int64, len(pets)), make([]string, len(pets))
	for i, pet := range pets {
		names[i], categories[i], statuses[i] = pet.Name, pet.CategoryID, string(pet.Status)
	}
	return query(ctx, p.session, scanID, len(pets), `WITH numbered AS (
			SELECT nextval('pets_id_seq') AS id, * FROM unnest(?::text[], ?::bigint[], ?::text[])
				WITH ORDINALITY AS pet (name, category_id, status, n)
		), inserted AS (
			INSERT INTO pets (id, name, category_id, status) SELECT id, name, category_id, NULLIF(status, '') FROM numbered
		)
		SELECT id FROM numbered ORDER BY n`, names, categories, statuses)
}

// rowsPerInsert is the number of rows of one INSERT. The driver caches one statement for
// each number, so all but the last have this one. SQLite allows 32,766 variables in a
// statement.
const rowsPerInsert = 250

func (p pets) CreateAll(ctx context.Context, pets []domain.NewPet) ([]domain.Pet, error) {
	p.changes.markInserted()
	rows := make([]petRow, len(pets))
	for i, pet := range pets {
		rows[i] = petRow{Name: pet.Name, CategoryID: pet.CategoryID}
		if pet.Status != "" {
			rows[i].Status = &pets[i].Status
		}
	}
	if err := p.gorm(ctx).CreateInBatches(rows, rowsPerInsert).Error; err != nil {
		return nil, translate(p.database, err)
	}
	created := make([]domain.Pet, len(rows))
	for i, pet := range pets {
		created[i] = domain.Pet{ID: rows[i].ID, Name: pet.Name, CategoryID: pet.CategoryID, Status: pet.Status}
	}
	return created, nil
}

func (p pets) Move(ctx context.Context, id int64, from []domain.PetStatus, to domain.PetStatus) (bool, error) {
	moved, err := p.exec(ctx, "UPDATE pets SET status = ? WHERE id = ? AND COALESCE(status, '') IN ?", to, id, from)
	p.changes.markUpdated(moved)
	return moved == 1, err
}
