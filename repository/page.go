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

// list reads a page of a table by a keyset on the id, so that the thousandth page
// costs what the first does.
func list[T any](
	ctx context.Context, s session, selection string, page domain.PageRequest,
	of func(*row) T, conditions ...condition,
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
	values = append(values, int64(page.Limit))

	items, err := read(ctx, s, of, page.Limit+1, query.String(), values...)
	if err != nil {
		return domain.Page[T]{}, err
	}
	return domain.CutPage(items, page.Limit), nil
}
