package record

import (
	"strconv"

	"github.com/go-json-experiment/json/jsontext"
)

// A Record is a Pet, an Order, a Change, an Inventory or a category. AppendJSON appends the JSON that json.Marshal would
// return, without reflection. It returns an error for invalid UTF-8.
type Record interface {
	AppendJSON(to []byte) ([]byte, error)
}

// A Listed is a Record that occurs in lists, which are in the order of ids.
type Listed interface {
	Record
	RecordID() int64
}

// AppendJSON implements Record.
func (p Pet) AppendJSON(to []byte) ([]byte, error) {
	to = appendInt(to, `{"id":`, p.ID)
	to, err := jsontext.AppendQuote(append(to, `,"name":`...), p.Name)
	to = appendInt(to, `,"categoryId":`, p.CategoryID)
	if p.Status != "" {
		to = appendUnescaped(to, `,"status":"`, string(p.Status))
	}
	return append(to, '}'), err
}

// AppendJSON implements Record.
func (o Order) AppendJSON(to []byte) ([]byte, error) {
	to = appendInt(to, `{"id":`, o.ID)
	to = appendInt(to, `,"petId":`, o.PetID)
	to = appendUnescaped(to, `,"status":"`, string(o.Status))
	to = appendUnescaped(to, `,"createdAt":"`, o.CreatedAt)
	to = appendUnescaped(to, `,"updatedAt":"`, o.UpdatedAt)
	return append(to, '}'), nil
}

// AppendJSON implements Record.
func (i Inventory) AppendJSON(to []byte) ([]byte, error) {
	to = appendInt(to, `{"available":`, i.Available)
	to = appendInt(to, `,"pending":`, i.Pending)
	to = appendInt(to, `,"sold":`, i.Sold)
	to = appendInt(to, `,"none":`, i.None)
	to = appendInt(to, `,"total":`, i.Total)
	return append(to, '}'), nil
}

// AppendJSON implements Record.
func (c Category) AppendJSON(to []byte) (_ []byte, err error) {
	to, err = NamedCategory{c.ID, c.Name}.AppendJSON(to)
	end := len(to) - 1
	to, _ = c.Inventory.AppendJSON(to[:end]) // the error is for invalid text, and an Inventory has no text
	to[end] = ','                            // instead of the brace
	return to, err
}

// AppendJSON implements Record.
func (c NamedCategory) AppendJSON(to []byte) (_ []byte, err error) {
	to = appendInt(to, `{"id":`, c.ID)
	if c.Name != "" {
		to, err = jsontext.AppendQuote(append(to, `,"name":`...), c.Name)
	}
	return append(to, '}'), err
}

func appendInt(to []byte, prefix string, value int64) []byte {
	return strconv.AppendInt(append(to, prefix...), value, 10)
}

// appendUnescaped appends prefix, text and a quote. prefix must end with a quote, and text must need no escapes.
func appendUnescaped(to []byte, prefix, text string) []byte {
	return append(append(append(to, prefix...), text...), '"')
}

// Size is the approximate size of an encoded pet in bytes. It is the initial capacity for each record: a larger
// Size would waste memory in each cached page.
const Size = 72

// EncodeAll encodes items as an array of records.
func EncodeAll[T any, R Record](items []T, recordOf func(T) R) (_ []byte, err error) {
	to := append(make([]byte, 0, 2+Size*len(items)), '[')
	for i, item := range items {
		if i > 0 {
			to = append(to, ',')
		}
		if to, err = recordOf(item).AppendJSON(to); err != nil {
			return nil, err
		}
	}
	return append(to, ']'), nil
}
