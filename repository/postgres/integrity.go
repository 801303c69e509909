package postgres

import (
	"context"
	"database/sql"
	"errors"
	"fmt"

	"github.com/jackc/pgx/v5/pgconn"

	"example.com/petstore/internal/engine"
)

// CheckIntegrity implements engine.Database. It compares the indexes with the tables by the extension amcheck
// (postgresql.org/docs/current/amcheck.html), if that is installed and the user may use it.
func (d *database) CheckIntegrity(ctx context.Context) (damage []string, omitted string, err error) {
	const remedy = ": to check them, run CREATE EXTENSION amcheck and GRANT EXECUTE ON FUNCTION bt_index_check(regclass, boolean) as a superuser"
	var schema sql.NullString
	err = d.readers.QueryRowContext(ctx, `SELECT (SELECT quote_ident(nspname) FROM pg_extension
		JOIN pg_namespace ON pg_namespace.oid = extnamespace WHERE extname = 'amcheck')`).Scan(&schema)
	if err != nil {
		return nil, "", err
	}
	if !schema.Valid {
		return nil, "the indexes were not checked, because the extension amcheck is missing" + remedy, nil
	}
	indexes, err := d.indexes(ctx)
	if err != nil {
		return nil, "", err
	}
	for _, index := range indexes {
		var nothing string
		err := d.readers.QueryRowContext(ctx, "SELECT "+schema.String+".bt_index_check($1::regclass, true)::text", index).Scan(&nothing)
		failure, _ := errors.AsType[*pgconn.PgError](err)
		switch {
		case err == nil:
		case failure != nil && failure.Code == "42501":
			return nil, "the indexes were not checked, because the user may not" + remedy, nil
		case failureOf(err) == engine.FailureCorrupt:
			damage = append(damage, fmt.Sprintf("the index %s is damaged (%s): run REINDEX INDEX %[1]s", index, failure.Message))
		default:
			return nil, "", err
		}
	}
	return damage, "", nil
}

// indexes returns the names of the valid indexes of the store.
func (d *database) indexes(ctx context.Context) (names []string, err error) {
	rows, err := d.readers.QueryContext(ctx, `SELECT indexrelid::regclass::text FROM pg_index JOIN pg_class ON pg_class.oid = indrelid
		WHERE relnamespace = quote_ident(current_schema())::regnamespace AND indisvalid AND relname IN `+engine.Tables+` ORDER BY 1`)
	if err != nil {
		return nil, err
	}
	defer func() { _ = rows.Close() }() // rows.Err has the error
	for rows.Next() {
		var name string
		if err := rows.Scan(&name); err != nil {
			return nil, err
		}
		names = append(names, name)
	}
	return names, rows.Err()
}
