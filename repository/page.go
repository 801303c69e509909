package repository

import (
	"context"
	"strings"

	"example.com/petstore/domain"
)

// A condition narrows a list: "status = ?" with its value.
type condition struct {
	sql   string
	value any
}

// list reads a page of a table in the order of its ids. It starts behind an id, so
// that the thousandth page costs what the first does.
func list[T any](
	ctx context.Context, s session, scan func(*row) (T, error), page domain.PageRequest, selectSQL string, conditions ...condition,
) (domain.Page[T], error) {
	var statement strings.Builder
	statement.WriteString(selectSQL + " WHERE id > ?")
	args := []any{page.After}
	for _, c := range conditions {
		statement.WriteString(" AND " + c.sql)
		args = append(args, c.value)
	}
	// SQLite plans a statement with a bare LIMIT ? anew for each value.
	statement.WriteString(" ORDER BY id LIMIT ? + 1")
	args = append(args, int64(page.Limit))

	items, err := query(ctx, s, scan, page.Limit+1, statement.String(), args...)
	if err != nil {
		return domain.Page[T]{}, err
	}
	return domain.CutPage(items, page.Limit), nil
}
