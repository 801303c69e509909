package repository

import (
	"database/sql"
	"fmt"
)

// A row is the current row of a result. Unlike those of sql.Rows.Scan, the arguments of
// its method scan do not escape to the heap.
type row struct {
	values []any
	dest   []any // points to values
}

// scanAll returns the rows of a result as records. expected is the capacity to allocate.
func scanAll[T any](rows *sql.Rows, scan func(*row) (T, error), expected int) ([]T, error) {
	columns, err := rows.Columns()
	if err != nil {
		return nil, err
	}
	r := &row{values: make([]any, len(columns)), dest: make([]any, len(columns))}
	for i := range r.values {
		r.dest[i] = &r.values[i]
	}
	items := make([]T, 0, expected)
	for rows.Next() {
		if err := rows.Scan(r.dest...); err != nil {
			return nil, err
		}
		item, err := scan(r)
		if err != nil {
			return nil, err
		}
		items = append(items, item)
	}
	return items, rows.Err()
}

// scan assigns the columns, in their order, to dest. It returns an error for a column
// whose type does not match, and for a NULL unless dest is a **int64 or a *[]byte.
func (r *row) scan(dest ...any) error {
	for i, d := range dest {
		ok := false
		switch d := d.(type) {
		case *int64:
			*d, ok = r.values[i].(int64)
		case *string:
			*d, ok = r.values[i].(string)
		case *[]byte:
			*d, ok = r.values[i].([]byte)
			ok = ok || r.values[i] == nil
		case **int64:
			var value int64
			if value, ok = r.values[i].(int64); ok {
				*d = &value
			}
			ok = ok || r.values[i] == nil
		}
		if !ok {
			return fmt.Errorf("column %d of a row has the unexpected type %T", i+1, r.values[i])
		}
	}
	return nil
}

func scanID(r *row) (id int64, err error) {
	err = r.scan(&id)
	return id, err
}
