package repository

import (
	"context"
	"database/sql"
	"database/sql/driver"
	"errors"
	"io"
)

// eachOfDriver hands the rows of a query to a function as the driver reads them.
// database/sql takes locks and converts for each row, a third of the time of a page.
func eachOfDriver(ctx context.Context, pool *sql.DB, query string, values []any, do func(*row) error) error {
	conn, err := pool.Conn(ctx)
	if err != nil {
		return err
	}
	defer conn.Close()
	return conn.Raw(func(c any) error {
		rows, err := c.(driver.QueryerContext).QueryContext(ctx, query, numbered(values))
		if err != nil {
			return err
		}
		defer rows.Close()
		r := &row{values: make([]driver.Value, len(rows.Columns()))}
		for {
			switch err := rows.Next(r.values); {
			case errors.Is(err, io.EOF):
				return nil
			case err != nil:
				return err
			}
			if err := do(r); err != nil {
				return err
			}
		}
	})
}

// numbered are the values of a statement in their order. Each is of a type that
// drivers know, such as int64.
func numbered(values []any) []driver.NamedValue {
	all := make([]driver.NamedValue, len(values))
	for i, value := range values {
		all[i] = driver.NamedValue{Ordinal: i + 1, Value: value}
	}
	return all
}

// eachOf hands rows to a function as eachOfDriver does.
func eachOf(rows *sql.Rows, do func(*row) error) error {
	columns, err := rows.Columns()
	if err != nil {
		return err
	}
	r := &row{values: make([]driver.Value, len(columns))}
	values, places := make([]any, len(columns)), make([]any, len(columns))
	for i := range places {
		places[i] = &values[i]
	}
	for rows.Next() {
		if err := rows.Scan(places...); err != nil {
			return err
		}
		for i, value := range values {
			r.values[i] = value
		}
		if err := do(r); err != nil {
			return err
		}
	}
	return rows.Err()
}
