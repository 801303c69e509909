package http

import (
	"strconv"

	"github.com/go-json-experiment/json/jsontext"
)

// A record is a pet or an order. appendJSON appends the same JSON as json.Marshal returns,
// without reflection. It returns an error for invalid UTF-8.
type record interface {
	appendJSON(to []byte) ([]byte, error)
}

func (p pet) appendJSON(to []byte) ([]byte, error) {
	to = appendInt(to, `{"id":`, p.ID)
	to, err := jsontext.AppendQuote(append(to, `,"name":`...), p.Name)
	to = appendInt(to, `,"categoryId":`, p.CategoryID)
	if p.Status != "" {
		to = appendUnescaped(to, `,"status":"`, string(p.Status))
	}
	return append(to, '}'), err
}

func (o order) appendJSON(to []byte) ([]byte, error) {
	to = appendInt(to, `{"id":`, o.ID)
	to = appendInt(to, `,"petId":`, o.PetID)
	to = appendUnescaped(to, `,"status":"`, string(o.Status))
	to = appendUnescaped(to, `,"createdAt":"`, o.CreatedAt)
	to = appendUnescaped(to, `,"updatedAt":"`, o.UpdatedAt)
	return append(to, '}'), nil
}

func appendInt(to []byte, prefix string, value int64) []byte {
	return strconv.AppendInt(append(to, prefix...), value, 10)
}

// appendUnescaped appends a prefix that ends with a quote, a text that needs no escapes,
// and a quote.
func appendUnescaped(to []byte, prefix, text string) []byte {
	return append(append(append(to, prefix...), text...), '"')
}

// recordSize is the approximate size of an encoded pet in bytes. A larger one would waste
// memory in each page of the cache.
const recordSize = 72

// encodeAll encodes items as an array of records.
func encodeAll[T any, R record](items []T, recordOf func(T) R) (_ []byte, err error) {
	to := append(make([]byte, 0, 2+recordSize*len(items)), '[')
	for i, item := range items {
		if i > 0 {
			to = append(to, ',')
		}
		if to, err = recordOf(item).appendJSON(to); err != nil {
			return nil, err
		}
	}
	return append(to, ']'), nil
}
