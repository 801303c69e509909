package postgres

import (
	"cmp"
	"context"
	"database/sql"
	"embed"
	"errors"
	"fmt"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/stdlib"
	"github.com/pressly/goose/v3"
	"github.com/pressly/goose/v3/lock"

	"example.com/petstore/internal/engine"
	"example.com/petstore/internal/schemaversion"
)

//go:embed migrations
var migrations embed.FS

// minVersion is the oldest supported server_version_num.
const minVersion = 140000

// prepare checks the server and the schema of the store. Unless o forbids it, prepare creates or migrates
// the schema.
func prepare(ctx context.Context, config *pgx.ConnConfig, o engine.Options) (schema engine.Schema, err error) {
	inUTC := config.Copy()
	inUTC.RuntimeParams["timezone"] = "UTC" // goose stores the time of a migration in the time zone of its session
	pool := sql.OpenDB(connector{stdlib.GetConnector(*inUTC)})
	defer func() { err = errors.Join(err, pool.Close()) }()
	synchronousCommit, err := checkServer(ctx, pool)
	if err != nil {
		return schema, err
	}
	config.RuntimeParams["synchronous_commit"] = synchronousCommit // it stays in force when the settings of the server change
	exists, err := storeExists(ctx, pool)
	if err != nil {
		return schema, err
	}
	if !exists && o.NoMigration {
		return schema, errors.New("there is no store in the database yet: run petstore migrate up")
	}
	if schema, err = migrate(ctx, pool, exists, !o.NoMigration && (!exists || !o.Exclusive)); err == nil {
		schema.OtherTables, err = otherTables(ctx, pool)
	}
	if err == nil {
		schema.MigratedAt, err = schemaversion.MigratedAt(ctx, pool, "tstamp AT TIME ZONE 'UTC'")
	}
	return schema, err
}

// checkServer checks the version of the server and the settings that make a commit durable. It returns the
// synchronous_commit of the server.
func checkServer(ctx context.Context, pool *sql.DB) (synchronousCommit string, err error) {
	var version int
	var encoding, fsync, fullPageWrites string
	err = pool.QueryRowContext(ctx, `SELECT current_setting('server_version_num')::int, current_setting('server_encoding'),
		current_setting('fsync'), current_setting('full_page_writes'), current_setting('synchronous_commit')`).
		Scan(&version, &encoding, &fsync, &fullPageWrites, &synchronousCommit)
	switch {
	case err != nil:
		return "", err
	case version < minVersion:
		return "", fmt.Errorf("the server is PostgreSQL %d: use PostgreSQL 14 or newer", version/10000)
	case encoding != "UTF8":
		return "", fmt.Errorf("the encoding of the database is %s: create a database with the encoding UTF8", encoding)
	case fsync != "on" || fullPageWrites != "on":
		return "", errNotDurable(fsync, fullPageWrites)
	case synchronousCommit != "on" && synchronousCommit != "remote_apply":
		return "", fmt.Errorf("synchronous_commit is %s, commits could be lost: set it to on", synchronousCommit)
	}
	return synchronousCommit, nil
}

// storeExists reports whether the schema has a store. It returns an ErrEarlySchema for the store of an early program, and
// otherwise an error if another program has a table or a sequence with a name of a store.
func storeExists(ctx context.Context, pool *sql.DB) (bool, error) {
	var schema sql.NullString
	var table string // a table with a name of a store, except the table that goose creates first
	var ours int
	var versioned bool
	// One statement sees all or nothing of a store that another process creates.
	err := pool.QueryRowContext(ctx, `SELECT current_schema(), coalesce(min(relname) FILTER (WHERE relname <> '`+schemaversion.Table+`'), ''),
		count(*) FILTER (WHERE relname IN ('pets', 'orders', 'store') AND relkind = 'r'),
		count(*) FILTER (WHERE relname = '`+schemaversion.Table+`' AND relkind = 'r') = 1
		FROM pg_class WHERE relnamespace = quote_ident(current_schema())::regnamespace AND relname IN `+engine.Tables).
		Scan(&schema, &table, &ours, &versioned)
	switch {
	case err != nil:
		return false, err
	case !schema.Valid:
		return false, errors.New("the search_path has no schema that exists: create the schema")
	case table == "" || ours == 3:
		return table != "", nil
	}
	if versioned { // an early program had no table store
		version, err := schemaversion.Read(ctx, pool)
		if err = cmp.Or(err, engine.CheckSchemaVersion(version.Int64, true)); err != nil {
			return false, err
		}
	}
	return false, fmt.Errorf("the schema %s: %w", schema.String, engine.OtherTableError(table))
}

// otherTables returns the names of the tables of other programs, as in engine.Schema. It leaves out the
// tables of extensions.
func otherTables(ctx context.Context, pool *sql.DB) (tables string, err error) {
	err = pool.QueryRowContext(ctx, `SELECT coalesce(string_agg(relname, ', ' ORDER BY relname), '') FROM pg_class AS c
		WHERE relnamespace = quote_ident(current_schema())::regnamespace AND relkind IN ('r', 'p', 'f')
		AND relname <> 'goose_db_version' AND relname NOT IN `+engine.Tables+`
		AND NOT EXISTS (SELECT FROM pg_depend WHERE classid = 'pg_class'::regclass AND objid = c.oid AND deptype = 'e')`).Scan(&tables)
	return tables, err
}

// migrate migrates the schema if that is allowed. Otherwise it rejects an older schema. It always rejects a
// newer schema that this program cannot use. Processes that start at the same time wait for each other.
func migrate(ctx context.Context, pool *sql.DB, exists, allowed bool) (schema engine.Schema, err error) {
	if exists {
		version, err := schemaversion.Read(ctx, pool)
		schema.Version, schema.Previous = version.Int64, version.Int64
		if err != nil || schema.Version >= engine.SchemaVersion {
			return schema, err
		}
	}
	if err := engine.CheckSchemaVersion(schema.Version, allowed); err != nil {
		return schema, err
	}
	provider, err := newProvider(pool)
	if err != nil {
		return schema, err
	}
	applied, err := provider.Up(ctx)
	for _, migration := range applied {
		schema.Created = schema.Created || migration.Source.Version == engine.FirstSchemaVersion
	}
	if err != nil {
		return schema, err
	}
	schema.Version, err = provider.GetDBVersion(ctx)
	if err != nil {
		return schema, err
	}
	if len(applied) == 0 {
		schema.Previous = schema.Version
	}
	return schema, engine.CheckSchemaVersion(schema.Version, allowed)
}

func newProvider(pool *sql.DB) (*goose.Provider, error) {
	// One second is the shortest interval at which goose tries to get the lock.
	locker, err := lock.NewPostgresSessionLocker(lock.WithLockTimeout(1, 60))
	if err != nil {
		return nil, err
	}
	return schemaversion.NewProvider(goose.DialectPostgres, pool, migrations, goose.WithSessionLocker(locker))
}
