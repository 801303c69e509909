package repository

import (
	"context"
	"strings"

	"gorm.io/gorm"

	"example.com/petstore/domain"
)

// A condition narrows a list: "status = ?" with its value.
type condition struct {
	sql   string
	value any
}

// A scanner is a row that was read, *sql.Row or *sql.Rows.
type scanner interface{ Scan(into ...any) error }

// list reads a page of a table by a keyset on the id, so that the thousandth page
// costs what the first does. It scans without reflection: GORM's Find takes half
// as long again, and lists are what a catalogue is read by.
func list[T any](
	ctx context.Context, db *gorm.DB, selection string, page domain.PageRequest,
	scan func(scanner) (T, error), conditions ...condition,
) (domain.Page[T], error) {
	var query strings.Builder
	query.WriteString(selection + " WHERE id > ?")
	values := []any{page.After}
	for _, c := range conditions {
		query.WriteString(" AND " + c.sql)
		values = append(values, c.value)
	}
	// SQLite would plan anew for each value of a bare LIMIT ?, a fifth of the whole request.
	query.WriteString(" ORDER BY id LIMIT ? + 1")
	values = append(values, page.Limit)

	items, err := scanAll(db.WithContext(ctx).Raw(query.String(), values...), page.Limit+1, scan)
	if err != nil {
		return domain.Page[T]{}, translate(err)
	}
	return domain.CutPage(items, page.Limit), nil
}

func scanAll[T any](query *gorm.DB, most int, scan func(scanner) (T, error)) ([]T, error) {
	rows, err := query.Rows()
	if err != nil {
		return nil, err
	}
	defer rows.Close()
	items := make([]T, 0, most)
	for rows.Next() {
		item, err := scan(rows)
		if err != nil {
			return nil, err
		}
		items = append(items, item)
	}
	return items, rows.Err()
}
