package repository

import (
	"context"
	"database/sql"
	"fmt"
)

// A row is the current row of a result. Unlike those of sql.Rows.Scan, the arguments of
// its method scan do not escape to the heap.
type row struct {
	values []any
	dest   []any // points to values
}

// newRow returns a row for the columns of a result.
func newRow(rows *sql.Rows) (*row, error) {
	columns, err := rows.Columns()
	if err != nil {
		return nil, err
	}
	r := &row{values: make([]any, len(columns)), dest: make([]any, len(columns))}
	for i := range r.values {
		r.dest[i] = &r.values[i]
	}
	return r, nil
}

// scanAll returns the rows of a result as records. expected is the capacity to allocate.
func scanAll[T any](rows *sql.Rows, scan func(*row) (T, error), expected int) ([]T, error) {
	r, err := newRow(rows)
	if err != nil {
		return nil, err
	}
	items := make([]T, 0, expected)
	for rows.Next() {
		item, err := scanCurrent(rows, r, scan)
		if err != nil {
			return nil, err
		}
		items = append(items, item)
	}
	return items, rows.Err()
}

// scanEach calls fn with each row of a result as a record, until fn returns an error or ctx
// ends.
func scanEach[T any](ctx context.Context, rows *sql.Rows, scan func(*row) (T, error), fn func(T) error) error {
	r, err := newRow(rows)
	if err != nil {
		return err
	}
	for rows.Next() {
		item, err := scanCurrent(rows, r, scan)
		if err == nil {
			err = ctx.Err()
		}
		if err == nil {
			err = fn(item)
		}
		if err != nil {
			return err
		}
	}
	return rows.Err()
}

// scanCurrent returns the current row of a result as a record.
func scanCurrent[T any](rows *sql.Rows, r *row, scan func(*row) (T, error)) (item T, err error) {
	if err := rows.Scan(r.dest...); err != nil {
		return item, err
	}
	return scan(r)
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
