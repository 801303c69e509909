package postgres

import (
	"context"

	"gorm.io/gorm"

	"example.com/petstore/repository/engine"
)

// LastID implements engine.Database.
func (*database) LastID(ctx context.Context, pool gorm.ConnPool, table string) (id int64, err error) {
	err = pool.QueryRowContext(ctx, "SELECT coalesce(pg_sequence_last_value(pg_get_serial_sequence($1, 'id')), 0)", table).Scan(&id)
	return id, err
}

// SetLastID implements engine.Database. A rollback does not undo it.
func (*database) SetLastID(ctx context.Context, tx engine.Tx, table string, id int64) error {
	_, err := tx.ExecContext(ctx, "SELECT setval(pg_get_serial_sequence($1, 'id'), greatest($2::bigint, 1), $2 > 0)", table, id)
	return err
}
