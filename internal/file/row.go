package file

import (
	"strings"

	"example.com/petstore/domain"
	"example.com/petstore/internal/binding"
	"example.com/petstore/internal/record"
)

// A petRow is the JSON of an animal in a file.
type petRow struct {
	record.NewPet
	ID   *int64  `json:"id" validate:"omitempty,min=1"`
	Rule *string `json:"rule"` // the rule that Rejects has written, ignored
}

// decodePet decodes the JSON of an animal in a file. The rules are the rules of POST /pets, except that unknown members
// are violations, and that there may be an id. Without an id, ID is 0. The error is an ErrInvalid (invalid_json,
// validation_failed) that lists every violation.
func decodePet(row []byte) (domain.Pet, error) {
	decoded, err := binding.StrictJSON[petRow](row, "the row")
	if err != nil {
		return domain.Pet{}, err
	}
	return decoded.petWithID(), nil
}

// parsePet is decodePet for the fields of a CSV row, which people write: it ignores blanks around id, categoryId and
// status, and the letter case of status. An empty field counts as missing.
func parsePet(id, name, categoryID, status string) (domain.Pet, error) {
	var row petRow
	violations := append(parseInt("id", id, &row.ID), parseInt("categoryId", categoryID, &row.CategoryID)...)
	if name != "" {
		row.Name = &name
	}
	if status = strings.ToLower(strings.TrimSpace(status)); status != "" {
		row.Status = new((*domain.PetStatus)(&status))
	}
	if err := binding.Validate(&row, domain.CodeValidationFailed, violations); err != nil {
		return domain.Pet{}, err
	}
	return row.petWithID(), nil
}

// parseInt parses the text of a field into target, and returns the rule that it violates, if any.
func parseInt(name, text string, target **int64) []domain.Violation {
	if text = strings.TrimSpace(text); text == "" {
		return nil
	}
	number, ok := binding.ParseInt64(text)
	if *target = &number; ok {
		return nil
	}
	return []domain.Violation{{Field: name, Rule: binding.IntegerRule}}
}

// A categoryRow is the JSON of a category in a file. Without a name, the category has none.
type categoryRow struct {
	ID   *int64  `json:"id" validate:"required"`
	Name *string `json:"name" validate:"omitempty,petname"`
	Rule *string `json:"rule"` // as in petRow
}

// decodeCategory is decodePet for categories.
func decodeCategory(row []byte) (domain.Category, error) {
	decoded, err := binding.StrictJSON[categoryRow](row, "the row")
	if err != nil {
		return domain.Category{}, err
	}
	return decoded.category(), nil
}

// parseCategory is parsePet for categories.
func parseCategory(id, name string) (domain.Category, error) {
	var row categoryRow
	if name != "" {
		row.Name = &name
	}
	violations := parseInt("id", id, &row.ID)
	if err := binding.Validate(&row, domain.CodeValidationFailed, violations); err != nil {
		return domain.Category{}, err
	}
	return row.category(), nil
}

// category returns the category of a valid categoryRow.
func (r categoryRow) category() domain.Category {
	category := domain.Category{ID: *r.ID}
	if r.Name != nil {
		category.Name = *r.Name
	}
	return category
}

// petWithID returns the animal of a valid petRow.
func (r petRow) petWithID() domain.Pet {
	if r.ID == nil {
		return r.Pet().WithID(0)
	}
	return r.Pet().WithID(*r.ID)
}
