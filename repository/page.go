package repository

import (
	"context"
	"strings"

	"example.com/petstore/domain"
)

// A condition filters a list: SQL such as "status = ?", and its value.
type condition struct {
	sql   string
	value any
}

// list reads a page of a table, ascending by id. A page starts after an id and not at an
// offset, so every page takes the same time.
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
	// Not LIMIT ?: SQLite would prepare the statement again for each value.
	statement.WriteString(" ORDER BY id LIMIT ? + 1")
	args = append(args, int64(page.Limit))

	items, err := query(ctx, s, scan, page.Limit+1, statement.String(), args...)
	if err != nil {
		return domain.Page[T]{}, err
	}
	return domain.CutPage(items, page.Limit), nil
}
