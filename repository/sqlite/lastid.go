package sqlite

import (
	"context"
	"database/sql"
	"errors"

	"gorm.io/gorm"

	"example.com/petstore/repository/engine"
)

// LastID implements engine.Database (sqlite.org/autoinc.html).
func (*database) LastID(ctx context.Context, pool gorm.ConnPool, table string) (id int64, err error) {
	err = pool.QueryRowContext(ctx, "SELECT seq FROM sqlite_sequence WHERE name = ?", table).Scan(&id)
	if errors.Is(err, sql.ErrNoRows) {
		err = nil
	}
	return id, err
}

// SetLastID implements engine.Database.
func (*database) SetLastID(ctx context.Context, tx engine.Tx, table string, id int64) error {
	if _, err := tx.ExecContext(ctx, "DELETE FROM sqlite_sequence WHERE name = ?", table); err != nil {
		return err
	}
	_, err := tx.ExecContext(ctx, "INSERT INTO sqlite_sequence (name, seq) VALUES (?, ?)", table, id)
	return err
}
