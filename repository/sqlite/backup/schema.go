package backup

import (
	"context"
	"database/sql"
	"fmt"
	"slices"
	"strings"

	"example.com/petstore/repository/sqlite"
)

// A schemaObject is a table, index, trigger or view.
type schemaObject struct{ kind, name string }

// verifySchema returns an error unless a store has exactly the tables, indexes, triggers and views
// that the migrations up to its version create.
func verifySchema(ctx context.Context, pool *sql.DB, version int64) error {
	want, err := schemaOfVersion(ctx, version)
	if err != nil {
		return err
	}
	got, err := readSchema(ctx, pool)
	if err != nil {
		return err
	}
	var differences []string
	for object, statement := range want {
		if got[object] == "" {
			differences = append(differences, fmt.Sprintf("the %s %s is missing", object.kind, object.name))
		} else if got[object] != statement {
			differences = append(differences, fmt.Sprintf("the %s %s is another one", object.kind, object.name))
		}
	}
	for object := range got {
		if want[object] == "" {
			differences = append(differences, fmt.Sprintf("the %s %s was added", object.kind, object.name))
		}
	}
	if len(differences) == 0 {
		return nil
	}
	slices.Sort(differences)
	return fmt.Errorf("the schema is not that of version %d, %s: undo the change, or restore a backup without it", version, strings.Join(differences, ", "))
}

// schemaOfVersion returns the schema that the migrations create up to a version.
func schemaOfVersion(ctx context.Context, version int64) (map[schemaObject]string, error) {
	pool, err := sql.Open("sqlite3", ":memory:")
	if err != nil {
		return nil, err
	}
	defer func() { _ = pool.Close() }()
	pool.SetMaxOpenConns(1) // each connection has a database of its own
	if err := sqlite.CreateSchema(ctx, pool, version); err != nil {
		return nil, err
	}
	return readSchema(ctx, pool)
}

// readSchema returns the statements that create the objects of a database, except the tables of
// SQLite, goose and Litestream. Their white space is normalized.
func readSchema(ctx context.Context, pool *sql.DB) (map[schemaObject]string, error) {
	rows, err := pool.QueryContext(ctx, `SELECT type, name, sql FROM sqlite_schema WHERE sql IS NOT NULL
		AND NOT (type = 'table' AND (name GLOB 'sqlite_*' OR name GLOB '_litestream_*' OR name = 'goose_db_version'))`)
	if err != nil {
		return nil, err
	}
	defer rows.Close()
	schema := map[schemaObject]string{}
	for rows.Next() {
		var object schemaObject
		var statement string
		if err := rows.Scan(&object.kind, &object.name, &statement); err != nil {
			return nil, err
		}
		schema[object] = strings.Join(strings.Fields(statement), " ")
	}
	return schema, rows.Err()
}
