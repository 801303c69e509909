package repository

import (
	"context"
	"database/sql"
	"embed"
	"fmt"
	"io/fs"

	"github.com/pressly/goose/v3"
)

//go:embed migrations
var migrations embed.FS

// A schema is the tables of a store as Open found or made them.
type schema struct {
	version int64
	created bool // by this Open
}

// migrate brings the schema up to date where it may, and refuses one that is
// newer than this program.
func migrate(ctx context.Context, db *sql.DB, may bool) (s schema, err error) {
	provider, err := newProvider(db)
	if err != nil {
		return s, err
	}
	// Processes that start together on one file migrate it together; each step is
	// a transaction that only one of them can make, so the others look again.
	for {
		now, newest, err := provider.GetVersions(ctx)
		if err == nil {
			err = refuse(now, newest, may)
		}
		if s.version = now; err != nil || now == newest {
			return s, err
		}
		applied, err := provider.Up(ctx)
		if err == nil {
			s.created = s.created || len(applied) > 0 && applied[0].Source.Version == 1
			continue
		}
		if after, _, versionErr := provider.GetVersions(ctx); versionErr != nil || after == now {
			return s, err
		}
	}
}

// checkSchema is what migrate would refuse, asked of a connection that may change nothing.
func checkSchema(ctx context.Context, db *sql.DB, may bool) error {
	provider, err := newProvider(db)
	if err != nil {
		return err
	}
	var now int64
	if err := db.QueryRowContext(ctx, "SELECT max(version_id) FROM goose_db_version").Scan(&now); err != nil {
		return err
	}
	sources := provider.ListSources()
	return refuse(now, sources[len(sources)-1].Version, may)
}

// refuse returns an error for a schema that is newer than this program, or older where
// it may not be brought up to date.
func refuse(now, newest int64, may bool) error {
	switch {
	case now > newest:
		return fmt.Errorf("wrong schema version: the store has %d, this program knows %d: use a newer petstore", now, newest)
	case now < newest && !may:
		return fmt.Errorf("wrong schema version: the store has %d, this program needs %d: run petstore migrate up", now, newest)
	}
	return nil
}

func newProvider(db *sql.DB) (*goose.Provider, error) {
	files, err := fs.Sub(migrations, "migrations/sqlite")
	if err != nil {
		return nil, err
	}
	return goose.NewProvider(goose.DialectSQLite3, db, files, goose.WithDisableGlobalRegistry(true))
}
