package record

import "example.com/petstore/domain"

// A Change is the JSON of a change of an animal or of an order.
type Change struct {
	// Position of the change. It rises in the order of the changes.
	Seq int64 `json:"seq" validate:"required" format:"int64" example:"1795500000000001"`
	// What has changed.
	Type domain.ChangeType `json:"type" validate:"required" example:"pet.added"`
	// Time of the change, in UTC.
	At string `json:"at" validate:"required" format:"date-time" example:"2026-11-20T10:06:30.000Z"`
	// The animal as it was after the change, or before its removal. Absent for an order.
	Pet *Pet `json:"pet,omitzero"`
	// The order as it was after the change. Absent for an animal.
	Order *Order `json:"order,omitzero"`
} // @name Change

// ChangeOf returns the JSON of a change.
func ChangeOf(c domain.Change) Change {
	change := Change{Seq: c.Seq, Type: c.Type, At: Timestamp(c.At)}
	if c.Pet != nil {
		pet := PetOf(*c.Pet)
		change.Pet = &pet
	}
	if c.Order != nil {
		order := OrderOf(*c.Order)
		change.Order = &order
	}
	return change
}

// AppendJSON implements Record.
func (c Change) AppendJSON(to []byte) (_ []byte, err error) {
	to = appendInt(to, `{"seq":`, c.Seq)
	to = appendUnescaped(to, `,"type":"`, string(c.Type))
	to = appendUnescaped(to, `,"at":"`, c.At)
	if c.Pet != nil {
		to, err = c.Pet.AppendJSON(append(to, `,"pet":`...))
	}
	if c.Order != nil && err == nil {
		to, err = c.Order.AppendJSON(append(to, `,"order":`...))
	}
	return append(to, '}'), err
}
