// Package record has the JSON of animals, orders and changes, in the API and in files.
package record

import (
	"time"

	"example.com/petstore/domain"
)

// A NewPet is the JSON of an animal to add. A field is nil if its member is absent. Status points to nil if its member is
// null, which serializers write for an absent one.
type NewPet struct {
	// The animal's name: 1 to 200 characters, not blank or invisible, without control characters or noncharacters such as U+FFFF.
	Name *string `json:"name" validate:"required,petname" example:"Rex"`
	// Identifier of the category the animal belongs to.
	CategoryID *int64 `json:"categoryId" validate:"required" format:"int64" example:"7"`
	// Availability status. Without it the animal has no status.
	Status **domain.PetStatus `json:"status" validate:"omitempty,petstatus" swaggertype:"string" enums:"available,pending,sold" example:"available"`
} // @name NewPet

// Pet returns the animal of a valid NewPet.
func (n NewPet) Pet() domain.NewPet {
	pet := domain.NewPet{Name: *n.Name, CategoryID: *n.CategoryID}
	if n.Status != nil && *n.Status != nil {
		pet.Status = **n.Status
	}
	return pet
}

// A PetPatch is the JSON of a correction of an animal, a JSON Merge Patch (RFC 7396). A field is nil if its member
// is absent. Status points to nil if its member is null.
type PetPatch struct {
	// The animal's name: 1 to 200 characters, not blank or invisible, without control characters or noncharacters such as U+FFFF.
	Name *string `json:"name" validate:"omitempty,petname" example:"Rex"`
	// Identifier of the category the animal belongs to.
	CategoryID *int64 `json:"categoryId" format:"int64" example:"7"`
	// Availability status: `available`, `pending` or `sold`, or null to remove it.
	Status **domain.PetStatus `json:"status" validate:"omitempty,petstatus" swaggertype:"string" example:"available"`
} // @name PetPatch

// Patch returns the domain.PetPatch of a valid PetPatch.
func (p PetPatch) Patch() domain.PetPatch {
	patch := domain.PetPatch{Name: p.Name, CategoryID: p.CategoryID}
	if p.Status != nil {
		patch.Status = new(domain.PetStatus)
		if *p.Status != nil {
			patch.Status = *p.Status
		}
	}
	return patch
}

// A Pet is the JSON of an animal.
type Pet struct {
	// Unique identifier, assigned by the service on creation.
	ID int64 `json:"id" validate:"required" format:"int64" example:"1"`
	// The animal's name: 1 to 200 characters, not blank or invisible, without control characters or noncharacters such as U+FFFF.
	Name string `json:"name" validate:"required" example:"Rex"`
	// Identifier of the category the animal belongs to.
	CategoryID int64 `json:"categoryId" validate:"required" format:"int64" example:"7"`
	// Availability status, absent if the animal has none.
	Status domain.PetStatus `json:"status,omitzero" example:"available"`
} // @name Pet

// PetOf returns the JSON of an animal.
func PetOf(p domain.Pet) Pet {
	return Pet{ID: p.ID, Name: p.Name, CategoryID: p.CategoryID, Status: p.Status}
}

// RecordID implements Listed.
func (p Pet) RecordID() int64 { return p.ID }

// A CategoryName is the JSON of the name of a category.
type CategoryName struct {
	// The category's name: 1 to 200 characters, not blank or invisible, without control characters or noncharacters such as U+FFFF.
	Name *string `json:"name" validate:"required,petname" example:"Dogs"`
} // @name CategoryName

// An Inventory is the JSON of the numbers of animals.
type Inventory struct {
	// Number of animals that are available.
	Available int64 `json:"available" validate:"required" format:"int64" example:"3"`
	// Number of animals that are ordered.
	Pending int64 `json:"pending" validate:"required" format:"int64" example:"1"`
	// Number of animals that are sold.
	Sold int64 `json:"sold" validate:"required" format:"int64" example:"9"`
	// Number of animals without a status.
	None int64 `json:"none" validate:"required" format:"int64" example:"0"`
	// Number of all animals.
	Total int64 `json:"total" validate:"required" format:"int64" example:"13"`
} // @name Inventory

// InventoryOf returns the JSON of the numbers of animals.
func InventoryOf(i domain.Inventory) Inventory {
	return Inventory{Available: i.Available, Pending: i.Pending, Sold: i.Sold, None: i.None, Total: i.Total()}
}

// A Category is the JSON of a category with the numbers of its animals.
type Category struct {
	// Identifier of the category, which its animals have as `categoryId`.
	ID int64 `json:"id" validate:"required" format:"int64" example:"7"`
	// Name of the category, absent if it has none.
	Name string `json:"name,omitzero" example:"Dogs"`
	Inventory
} // @name Category

// CategoryOf returns the JSON of a category.
func CategoryOf(c domain.CategoryInventory) Category {
	return Category{ID: c.ID, Name: c.Name, Inventory: InventoryOf(c.Inventory)}
}

// RecordID implements Listed.
func (c Category) RecordID() int64 { return c.ID }

// A NamedCategory is the JSON of a category in a change or in a file.
type NamedCategory struct {
	// Identifier of the category.
	ID int64 `json:"id" validate:"required" format:"int64" example:"7"`
	// Name of the category. A category without a name occurs in files only.
	Name string `json:"name,omitzero" validate:"required" example:"Dogs"`
} // @name NamedCategory

// An Order is the JSON of an order.
type Order struct {
	// Unique identifier, assigned by the service.
	ID int64 `json:"id" validate:"required" format:"int64" example:"1"`
	// Identifier of the ordered animal.
	PetID int64 `json:"petId" validate:"required" format:"int64" example:"1"`
	// Status of the order.
	Status domain.OrderStatus `json:"status" validate:"required" example:"placed"`
	// Time at which the order was placed, in UTC.
	CreatedAt string `json:"createdAt" validate:"required" format:"date-time" example:"2026-11-20T10:06:30.000Z"`
	// Time of the last change of the status, in UTC.
	UpdatedAt string `json:"updatedAt" validate:"required" format:"date-time" example:"2026-11-20T10:06:30.000Z"`
} // @name Order

// OrderOf returns the JSON of an order.
func OrderOf(o domain.Order) Order {
	return Order{ID: o.ID, PetID: o.PetID, Status: o.Status, CreatedAt: Timestamp(o.CreatedAt), UpdatedAt: Timestamp(o.UpdatedAt)}
}

// RecordID implements Listed.
func (o Order) RecordID() int64 { return o.ID }

// Timestamp returns a time in the format of the API: RFC 3339, in UTC, with milliseconds.
func Timestamp(t time.Time) string {
	return t.UTC().Format("2006-01-02T15:04:05.000Z")
}
