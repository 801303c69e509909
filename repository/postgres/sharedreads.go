package postgres

import "example.com/petstore/repository/engine"

// SharedRead implements engine.SharedReader. Rows with one of several statuses are in the order of an
// index that begins with it: PostgreSQL believes that a status is spread evenly, so for an order by
// id alone it would use the primary key, and read rows of other statuses until it has found enough,
// possibly all of them.
func (*database) SharedRead(rows engine.Rows, ids []int64) (query string, args []any) {
	const begin, end = "SELECT n, found.* FROM unnest(CAST(? AS bigint[])) WITH ORDINALITY AS wanted (id, n), LATERAL (", ") AS found ORDER BY n, found.id"
	selected, args := "SELECT "+rows.Columns+" FROM "+rows.Table+" WHERE ", []any{&ids} // GORM would expand ids
	switch {
	case !rows.After:
		return begin + selected + "id = wanted.id" + end, args
	case rows.Statuses == nil:
		return begin + selected + "id > wanted.id ORDER BY id LIMIT ?" + end, append(args, rows.Limit)
	}
	status, args := "status", append(args, &rows.Statuses)
	if rows.Category.Valid {
		selected, status, args = selected+"category_id = ? AND ", "COALESCE(status, '')", append(args, rows.Category.Int64)
	}
	return begin + "SELECT page.* FROM unnest(CAST(? AS text[])) AS one (status), LATERAL (" +
		selected + "(" + status + ", id) > (one.status, wanted.id) AND " + status + " <= one.status ORDER BY " + status + ", id LIMIT ?" +
		") AS page ORDER BY page.id LIMIT ?" + end, append(args, rows.Limit, rows.Limit)
}
