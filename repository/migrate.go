package repository

import (
	"context"
	"database/sql"
	"embed"
	"errors"
	"fmt"
	"io/fs"

	"github.com/pressly/goose/v3"
)

//go:embed migrations
var migrations embed.FS

// ErrSchema is a store whose schema is not that of this program.
var ErrSchema = errors.New("wrong schema version")

// migrate brings the schema up to date where it may, and refuses one that is
// newer than this program.
func migrate(ctx context.Context, db *sql.DB, may bool) error {
	provider, err := newProvider(db)
	if err != nil {
		return err
	}
	// Processes that start together on one file migrate it together; each step is
	// a transaction that only one of them can make, so the others look again.
	for {
		now, newest, err := provider.GetVersions(ctx)
		switch {
		case err != nil:
			return err
		case now == newest:
			return nil
		case now > newest:
			return fmt.Errorf("%w: the store has %d, this program knows %d: use a newer petstore", ErrSchema, now, newest)
		case !may:
			return fmt.Errorf("%w: the store has %d, this program needs %d: run petstore migrate up", ErrSchema, now, newest)
		}
		if _, err := provider.Up(ctx); err == nil {
			continue
		} else if after, _, versionErr := provider.GetVersions(ctx); versionErr != nil || after == now {
			return err
		}
	}
}

func newProvider(db *sql.DB) (*goose.Provider, error) {
	files, err := fs.Sub(migrations, "migrations/sqlite")
	if err != nil {
		return nil, err
	}
	return goose.NewProvider(goose.DialectSQLite3, db, files, goose.WithDisableGlobalRegistry(true))
}
