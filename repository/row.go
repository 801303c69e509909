package repository

import (
	"crypto/sha256"
	"database/sql/driver"
	"fmt"
)

// A row is a row that was read, in the types of the driver. It keeps the first
// column that is of another type than was asked for.
type row struct {
	values []driver.Value
	err    error
}

func (r *row) int(column int) int64 { return valueOf[int64](r, column) }

func (r *row) text(column int) string { return valueOf[string](r, column) }

func (r *row) bytes(column int) []byte { return valueOf[[]byte](r, column) }

func (r *row) intOrNull(column int) *int64 {
	if r.values[column] == nil {
		return nil
	}
	n := r.int(column)
	return &n
}

func (r *row) bytesOrNull(column int) []byte {
	if r.values[column] == nil {
		return nil
	}
	return r.bytes(column)
}

func (r *row) digest(column int) (digest [sha256.Size]byte) {
	if copied := copy(digest[:], r.bytes(column)); copied != len(digest) && r.err == nil {
		r.err = fmt.Errorf("column %d of a row has %d bytes, not %d", column, copied, len(digest))
	}
	return digest
}

func valueOf[T any](r *row, column int) T {
	value, ok := r.values[column].(T)
	if !ok && r.err == nil {
		r.err = fmt.Errorf("column %d of a row is a %T, not a %T", column, r.values[column], value)
	}
	return value
}
