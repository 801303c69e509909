package backup

import (
	"context"
	"database/sql"
	"fmt"
	"net/url"
	"slices"
	"strings"

	"example.com/petstore/repository/sqlite"
	"example.com/petstore/repository/sqlite/internal/storefile"
)

// verifySchema returns an error unless a store has exactly the tables, indexes, triggers and views
// that the migrations up to its version create.
func verifySchema(ctx context.Context, pool *sql.DB, version int64) error {
	memory := storefile.OpenPool("schema", url.Values{"mode": {"memory"}})
	defer func() { _ = memory.Close() }()
	memory.SetMaxOpenConns(1) // each connection has a database of its own
	if err := sqlite.CreateSchema(ctx, memory, version); err != nil {
		return err
	}
	want, err := readSchema(ctx, memory)
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
			differences = append(differences, fmt.Sprintf("the %s is missing", object))
		} else if got[object] != statement {
			differences = append(differences, fmt.Sprintf("the %s is another one", object))
		}
	}
	for object := range got {
		if want[object] == "" {
			differences = append(differences, fmt.Sprintf("the %s was added", object))
		}
	}
	if len(differences) == 0 {
		return nil
	}
	slices.Sort(differences)
	return fmt.Errorf("the schema is not that of version %d, %s: undo the change, or restore a backup without it", version, strings.Join(differences, ", "))
}

// readSchema returns the statements that create the objects of a database, such as "table pets",
// except the tables of SQLite, goose and Litestream. Their white space is normalized.
func readSchema(ctx context.Context, pool *sql.DB) (map[string]string, error) {
	rows, err := pool.QueryContext(ctx, `SELECT type || ' ' || name, sql FROM sqlite_schema WHERE sql IS NOT NULL
		AND NOT (type = 'table' AND (name GLOB 'sqlite_*' OR name GLOB '_litestream_*' OR name = 'goose_db_version'))`)
	if err != nil {
		return nil, err
	}
	defer rows.Close()
	schema := map[string]string{}
	for rows.Next() {
		var object, statement string
		if err := rows.Scan(&object, &statement); err != nil {
			return nil, err
		}
		schema[object] = strings.Join(strings.Fields(statement), " ")
	}
	return schema, rows.Err()
}
