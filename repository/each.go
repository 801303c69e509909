package repository

import "context"

// each calls fn with each record of a table that has the status, or with all if it is empty,
// ascending by id.
func each[T any](ctx context.Context, s session, scan func(*row) (T, error), selectSQL, status string, fn func(T) error) error {
	if status == "" {
		return queryEach(ctx, s, scan, fn, selectSQL+" ORDER BY id")
	}
	return queryEach(ctx, s, scan, fn, selectSQL+" WHERE status = ? ORDER BY id", status)
}

// count returns the number of records of a table that have the status, or of all if it is
// empty.
func count(ctx context.Context, s session, table, status string) (int64, error) {
	if status == "" {
		return queryOne(ctx, s, scanID, "SELECT count(*) FROM "+table)
	}
	return queryOne(ctx, s, scanID, "SELECT count(*) FROM "+table+" WHERE status = ?", status)
}
