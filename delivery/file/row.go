package file

import (
	"strings"

	"example.com/petstore/delivery/internal/binding"
	"example.com/petstore/domain"
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
	var violations []domain.Violation
	parse := func(name, text string, target **int64) {
		if text = strings.TrimSpace(text); text == "" {
			return
		}
		number, ok := binding.ParseInt64(text)
		if *target = &number; !ok {
			violations = append(violations, domain.Violation{Field: name, Rule: binding.IntegerRule})
		}
	}
	parse("id", id, &row.ID)
	parse("categoryId", categoryID, &row.CategoryID)
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

// petWithID returns the animal of a valid petRow.
func (r petRow) petWithID() domain.Pet {
	if r.ID == nil {
		return r.Pet().WithID(0)
	}
	return r.Pet().WithID(*r.ID)
}
