package repository

import (
	"cmp"
	"database/sql"
	"fmt"
	"slices"
	"strings"
	"time"

	"gorm.io/gorm"
	"gorm.io/gorm/clause"

	"example.com/petstore/domain"
	"example.com/petstore/domain/apikey"
	"example.com/petstore/domain/port"
	"example.com/petstore/repository/engine"
)

// The models of the tables. Their fields are the columns that the migrations of each engine create. Times
// are milliseconds since 1970 in UTC.

// A row is a model that stores a record of type T.
type row[T any] interface {
	fields() []any // pointers to all fields, in the order of the struct
	record() (T, error)
}

type petModel engine.Pet

func newPetRow(pet domain.NewPet) engine.Pet {
	return engine.Pet{
		Name: pet.Name, CategoryID: pet.CategoryID,
		Status: sql.NullString{String: string(pet.Status), Valid: pet.Status != ""},
	}
}

func (m *petModel) fields() []any { return []any{&m.ID, &m.Name, &m.CategoryID, &m.Status} }

// errDamaged is the error for a row with values that are never stored. SQLite reads zeros where a file was
// truncated.
func errDamaged(table string, id int64) error {
	return fmt.Errorf("the row of %s with the id %d is damaged", table, id)
}

func (m *petModel) record() (domain.Pet, error) {
	pet := domain.Pet{ID: m.ID, Name: m.Name, CategoryID: m.CategoryID, Status: domain.PetStatus(m.Status.String)}
	if pet.Status != "" && !pet.Status.Known() || strings.IndexByte(pet.Name, 0) >= 0 {
		return domain.Pet{}, errDamaged("pets", m.ID)
	}
	return pet, nil
}

// An inventoryModel is a row of pet_counts without the category, or the row of pet_totals. Triggers update
// both.
type inventoryModel struct{ Available, Pending, Sold, None int64 }

type orderModel struct {
	ID        int64
	PetID     int64
	Status    string
	CreatedAt int64 `gorm:"autoCreateTime:false"`
	UpdatedAt int64 `gorm:"autoUpdateTime:false"`
}

func (m *orderModel) fields() []any {
	return []any{&m.ID, &m.PetID, &m.Status, &m.CreatedAt, &m.UpdatedAt}
}

func (m *orderModel) record() (domain.Order, error) {
	order := domain.Order{
		ID: m.ID, PetID: m.PetID, Status: domain.OrderStatus(m.Status),
		CreatedAt: timeOf(m.CreatedAt), UpdatedAt: timeOf(m.UpdatedAt),
	}
	if !order.Status.Known() {
		return domain.Order{}, errDamaged("orders", m.ID)
	}
	return order, nil
}

// A changeModel is a change with the columns of its record. If PetID is not NULL, the record is an order,
// otherwise an animal.
type changeModel struct {
	ID         int64
	Type       string
	At         int64
	RecordID   int64
	Name       sql.NullString
	CategoryID sql.NullInt64
	Status     sql.NullString
	PetID      sql.NullInt64
	CreatedAt  sql.NullInt64 `gorm:"autoCreateTime:false"`
	UpdatedAt  sql.NullInt64 `gorm:"autoUpdateTime:false"`
}

func (m *changeModel) fields() []any {
	return []any{&m.ID, &m.Type, &m.At, &m.RecordID, &m.Name, &m.CategoryID, &m.Status, &m.PetID, &m.CreatedAt, &m.UpdatedAt}
}

// petChanges are the changes of animals.
var petChanges = []domain.ChangeType{domain.ChangePetAdded, domain.ChangePetUpdated, domain.ChangePetRemoved}

func (m *changeModel) record() (domain.Change, error) {
	change := domain.Change{Seq: m.ID, Type: domain.ChangeType(m.Type), At: timeOf(m.At)}
	if m.PetID.Valid {
		order := orderModel{ID: m.RecordID, PetID: m.PetID.Int64, Status: m.Status.String, CreatedAt: m.CreatedAt.Int64, UpdatedAt: m.UpdatedAt.Int64}
		record, err := order.record()
		if err != nil || m.Type != "order."+order.Status {
			return domain.Change{}, errDamaged("changes", m.ID)
		}
		change.Order = &record
		return change, nil
	}
	pet := petModel{ID: m.RecordID, Name: m.Name.String, CategoryID: m.CategoryID.Int64, Status: m.Status}
	record, err := pet.record()
	if err != nil || !slices.Contains(petChanges, change.Type) {
		return domain.Change{}, errDamaged("changes", m.ID)
	}
	change.Pet = &record
	return change, nil
}

// A recordingModel is the row that says whether changes are recorded.
type recordingModel struct {
	Active    int64 // 0 or 1
	KeptAfter int64
	Last      int64 `gorm:"->"` // the last position; only queries set it
}

type keyModel struct {
	ID         int64
	Hash       []byte
	Name       string
	LastFour   string
	Scopes     sql.NullString // NULL if the key may do everything
	Lineage    sql.NullInt64  // NULL if the lineage is ID
	CreatedAt  int64          `gorm:"autoCreateTime:false"`
	ExpiresAt  *int64
	RevokedAt  *int64
	LastUsedAt *int64
}

func newKeyModel(key apikey.NewKey) keyModel {
	return keyModel{
		Hash: key.Hash[:], Name: key.Name, LastFour: key.LastFour, Scopes: sql.NullString{String: string(key.Scopes), Valid: key.Scopes != ""},
		Lineage:   sql.NullInt64{Int64: key.Lineage, Valid: key.Lineage != 0},
		CreatedAt: key.CreatedAt.UnixMilli(), ExpiresAt: millisPtr(key.ExpiresAt),
	}
}

// record returns an error if the hash has a wrong length.
func (m *keyModel) record() (apikey.Key, error) {
	key := apikey.Key{
		ID: m.ID, Name: m.Name, LastFour: m.LastFour, Scopes: apikey.Scopes(m.Scopes.String), Lineage: cmp.Or(m.Lineage.Int64, m.ID),
		CreatedAt: timeOf(m.CreatedAt),
		ExpiresAt: timePtr(m.ExpiresAt), RevokedAt: timePtr(m.RevokedAt), LastUsedAt: timePtr(m.LastUsedAt),
	}
	if len(m.Hash) != len(key.Hash) {
		return apikey.Key{}, fmt.Errorf("the hash of the API key %d has %d bytes", m.ID, len(m.Hash))
	}
	copy(key.Hash[:], m.Hash)
	return key, nil
}

type claimModel engine.Claim

func newClaimRow(claim port.Claim) engine.Claim {
	return engine.Claim{Caller: claim.Caller, Value: claim.Value, Fingerprint: claim.Fingerprint[:]}
}

// outcome returns an error if the fingerprint has a wrong length.
func (m *claimModel) outcome() (port.Outcome, error) {
	outcome := port.Outcome{Result: m.Result}
	if len(m.Fingerprint) != len(outcome.Fingerprint) {
		return port.Outcome{}, fmt.Errorf("the fingerprint of an idempotency key has %d bytes", len(m.Fingerprint))
	}
	copy(outcome.Fingerprint[:], m.Fingerprint)
	return outcome, nil
}

type importModel struct {
	Digest    []byte `gorm:"primaryKey"`
	Added     int64
	Complete  int64 // 0 or 1
	UpdatedAt int64 `gorm:"autoUpdateTime:false"`
}

// An unfinishedCopyModel is a row that is in a store while package storecopy has not finished copying the
// store Source into it.
type unfinishedCopyModel struct {
	Source string `gorm:"primaryKey"`
}

// TableName implements GORM's schema.Tabler.
func (petModel) TableName() string            { return "pets" }
func (orderModel) TableName() string          { return "orders" }
func (changeModel) TableName() string         { return "changes" }
func (recordingModel) TableName() string      { return "recording" }
func (keyModel) TableName() string            { return "api_keys" }
func (claimModel) TableName() string          { return "idempotency_keys" }
func (importModel) TableName() string         { return "imports" }
func (unfinishedCopyModel) TableName() string { return "unfinished_copy" }

func timeOf(millis int64) time.Time { return time.UnixMilli(millis).UTC() }

func timePtr(millis *int64) *time.Time {
	if millis == nil {
		return nil
	}
	t := timeOf(*millis)
	return &t
}

func millisPtr(t *time.Time) *int64 {
	if t == nil {
		return nil
	}
	millis := t.UnixMilli()
	return &millis
}

// asInt returns the number by which a boolean is stored.
func asInt(b bool) int64 {
	if b {
		return 1
	}
	return 0
}

// notBefore returns a value for an UPDATE: at, or the value of the column if that is later. The clock may
// have been set back.
func notBefore(column string, at time.Time) clause.Expr {
	return gorm.Expr("CASE WHEN "+column+" > ? THEN "+column+" ELSE ? END", at.UnixMilli(), at.UnixMilli())
}
