package record

import (
	"github.com/go-json-experiment/json/jsontext"

	"example.com/petstore/domain"
)

// A Change is the JSON of a change of an animal, of an order or of the name of a category. RecordedChange encodes it.
type Change struct {
	// Position of the change. It rises in the order of the changes.
	Seq int64 `json:"seq" validate:"required" format:"int64" example:"1795500000000001"`
	// What has changed.
	Type domain.ChangeType `json:"type" validate:"required" example:"pet.added"`
	// Time of the change, in UTC.
	At string `json:"at" validate:"required" format:"date-time" example:"2026-11-20T10:06:30.000Z"`
	// Who made the change: `key:` and the id of an API key, `user:` and the name of a user, or `command:` and the name of a
	// command. Absent if nobody is known.
	Caller string `json:"caller,omitzero" example:"key:1"`
	// The animal as it was after the change, or before its removal. Absent for an order and a category.
	Pet *Pet `json:"pet,omitzero"`
	// The animal as it was before a correction (`pet.updated`).
	Before *Pet `json:"before,omitzero"`
	// The order as it was after the change. Absent for an animal and a category.
	Order *Order `json:"order,omitzero"`
	// The category with the name that it got, or that was removed. Absent for an animal and an order.
	Category *NamedCategory `json:"category,omitzero"`
} // @name Change

// A RecordedChange is a domain.RecordedChange, whose JSON is a Change.
type RecordedChange domain.RecordedChange

// RecordedChangeOf returns the JSON of a change.
func RecordedChangeOf(c domain.RecordedChange) RecordedChange { return RecordedChange(c) }

// AppendJSON implements Record.
func (c RecordedChange) AppendJSON(to []byte) (_ []byte, err error) {
	to = appendInt(to, `{"seq":`, c.Seq)
	to = appendUnescaped(to, `,"type":"`, string(c.Type))
	to = appendUnescaped(to, `,"at":"`, Timestamp(c.At))
	if c.Caller != "" {
		to, err = jsontext.AppendQuote(append(to, `,"caller":`...), c.Caller)
	}
	if len(c.Records) > len("{}") { // it is an object with members
		return append(append(to, ','), c.Records[1:]...), err
	}
	return append(to, '}'), err
}

// AppendRecords appends the JSON of the records of a change.
func AppendRecords(to []byte, records domain.ChangedRecords) (_ []byte, err error) {
	switch {
	case records.Order != nil:
		to, err = OrderOf(*records.Order).AppendJSON(append(to, `{"order":`...))
		return append(to, '}'), err
	case records.Category != nil:
		to, err = NamedCategory(*records.Category).AppendJSON(append(to, `{"category":`...))
		return append(to, '}'), err
	}
	to, err = PetOf(*records.Pet).AppendJSON(append(to, `{"pet":`...))
	if records.Before != nil && err == nil {
		to, err = PetOf(*records.Before).AppendJSON(append(to, `,"before":`...))
	}
	return append(to, '}'), err
}
