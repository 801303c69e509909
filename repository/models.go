package repository

import (
	"cmp"
	"database/sql"
	"encoding/json"
	"fmt"
	"strings"
	"time"

	"gorm.io/gorm"
	"gorm.io/gorm/clause"

	"example.com/petstore/domain"
	"example.com/petstore/domain/apikey"
	"example.com/petstore/internal/port"
)

// The models of the tables. Their fields are the columns that the migrations of each engine create. Times
// are milliseconds since 1970 in UTC.

// A row is a model that stores a record of type T.
type row[T any] interface {
	fields() []any // pointers to all fields, in the order of the struct
	record() (T, error)
}

// A petModel is what is read of an animal. Searches compare the column name_key, domain.FoldName of the name, which is only written.
type petModel struct {
	ID         int64
	Name       string
	CategoryID int64
	Status     string // empty for an animal without a status
}

func (m *petModel) fields() []any { return []any{&m.ID, &m.Name, &m.CategoryID, &m.Status} }

// errDamaged is the error for a row with values that are never stored. SQLite reads zeros where a file was
// truncated.
func errDamaged(table string, id int64) error {
	return fmt.Errorf("the row of %s with the id %d is damaged", table, id)
}

func (m *petModel) record() (domain.Pet, error) {
	pet := domain.Pet{ID: m.ID, Name: m.Name, CategoryID: m.CategoryID, Status: domain.PetStatus(m.Status)}
	if pet.Status != "" && !pet.Status.Known() || strings.IndexByte(pet.Name, 0) >= 0 {
		return domain.Pet{}, errDamaged("pets", m.ID)
	}
	return pet, nil
}

// A categoryModel has the name of a category, empty without one, and the numbers of its animals by their status. A category
// with neither a name nor an animal has no row.
type categoryModel struct {
	ID                             int64 `gorm:"autoIncrement:false"` // otherwise GORM would not insert 0
	Name                           string
	Available, Pending, Sold, None int64
}

func (m *categoryModel) fields() []any {
	return []any{&m.ID, &m.Name, &m.Available, &m.Pending, &m.Sold, &m.None}
}

func (m *categoryModel) record() (domain.CategoryInventory, error) {
	if strings.IndexByte(m.Name, 0) >= 0 {
		return domain.CategoryInventory{}, errDamaged("categories", m.ID)
	}
	return domain.CategoryInventory{
		Category:  domain.Category{ID: m.ID, Name: m.Name},
		Inventory: domain.Inventory{Available: m.Available, Pending: m.Pending, Sold: m.Sold, None: m.None},
	}, nil
}

type orderModel struct {
	ID        int64
	PetID     int64
	Status    string
	CreatedAt int64 `gorm:"autoCreateTime:false"`
	UpdatedAt int64 `gorm:"autoUpdateTime:false"`
}

func newOrderModel(o domain.Order) orderModel {
	return orderModel{ID: o.ID, PetID: o.PetID, Status: string(o.Status), CreatedAt: o.CreatedAt.UnixMilli(), UpdatedAt: o.UpdatedAt.UnixMilli()}
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

// A changeModel is a change. Records is the JSON of domain.ChangedRecords.
type changeModel struct {
	Seq     int64 `gorm:"primaryKey"`
	Type    string
	At      int64
	Caller  string
	Records string
}

func (m *changeModel) fields() []any { return []any{&m.Seq, &m.Type, &m.At, &m.Caller, &m.Records} }

func (m *changeModel) record() (domain.RecordedChange, error) {
	if !json.Valid([]byte(m.Records)) || !strings.Contains(m.Type, ".") || strings.IndexByte(m.Type, 0) >= 0 {
		return domain.RecordedChange{}, errDamaged("changes", m.Seq)
	}
	header := domain.ChangeHeader{Seq: m.Seq, Type: domain.ChangeType(m.Type), At: timeOf(m.At), Caller: m.Caller}
	return domain.RecordedChange{ChangeHeader: header, Records: []byte(m.Records)}, nil
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

type claimModel struct {
	Caller      string `gorm:"primaryKey"`
	Value       string `gorm:"primaryKey"`
	Fingerprint []byte
	Result      []byte
	ClaimedAt   int64 // in milliseconds, by the clock that only claims use
}

func (m *claimModel) fields() []any {
	return []any{&m.Caller, &m.Value, &m.Fingerprint, &m.Result, &m.ClaimedAt}
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
	Digest []byte `gorm:"primaryKey"`
	Added  int64
}

// TableName implements GORM's schema.Tabler.
func (petModel) TableName() string      { return "pets" }
func (orderModel) TableName() string    { return "orders" }
func (changeModel) TableName() string   { return "changes" }
func (categoryModel) TableName() string { return "categories" }
func (keyModel) TableName() string      { return "api_keys" }
func (claimModel) TableName() string    { return "idempotency_keys" }
func (importModel) TableName() string   { return "imports" }

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

// notBefore returns a value for an UPDATE: at, or the value of the column if that is later. The clock may
// have been set back.
func notBefore(column string, at time.Time) clause.Expr {
	return gorm.Expr("CASE WHEN "+column+" > ? THEN "+column+" ELSE ? END", at.UnixMilli(), at.UnixMilli())
}
