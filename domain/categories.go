package domain

import "fmt"

// A Category is a category of animals with its name. Any number may be an ID, and several categories may have the same name.
// Its JSON is the JSON of the API.
type Category struct {
	ID   int64  `json:"id"`
	Name string `json:"name"`
}

// Validate returns an ErrInvalid (validation_failed) unless the name satisfies PetNameRule.
func (c Category) Validate() error {
	if !ValidPetName(c.Name) {
		return Invalid(CodeValidationFailed, Violation{Field: "name", Rule: PetNameRule})
	}
	return nil
}

// A CategoryInventory has the numbers of animals of a category. The name of the category is empty if nobody has named it.
type CategoryInventory struct {
	Category
	Inventory
}

// A CategoryQuery selects up to Limit categories with a name or an animal, ascending by ID. If After is not nil, their IDs
// are above it.
type CategoryQuery struct {
	After *int64
	Limit int
}

// Validate returns an ErrInvalid (invalid_parameter) for a limit outside 1 to MaxLimit.
func (q CategoryQuery) Validate() error { return PageRequest{Limit: q.Limit}.Validate() }

// CategoryNotFound returns the ErrNotFound for a category without a name.
func CategoryNotFound(id int64) error {
	return &Error{Kind: ErrNotFound, Code: CodeCategoryNotFound, Message: fmt.Sprintf("the category with the id %d has no name", id)}
}
