//go:build cgo

package backup

import (
	"context"
	"errors"
	"fmt"
	"os"

	"example.com/petstore/repository/sqlite/internal/schema"
	"example.com/petstore/repository/sqlite/internal/storefile"
)

// endChanges ends the recording of changes in the new store, because the positions after the backup are
// those of other changes. The next recording begins above them, and above those of the previous store,
// whose WAL has been written to its file, unless there is none or it cannot be read.
func (r *replacement) endChanges(ctx context.Context) error {
	const lastPosition = "COALESCE((SELECT max(id) FROM changes), kept_after)"
	var last int64
	previous := storefile.OpenPool(r.path, storefile.ImmutablePragmas)
	_ = previous.QueryRowContext(ctx, "SELECT "+lastPosition+" FROM recording").Scan(&last)
	_ = previous.Close()

	pool := storefile.OpenPool(r.with, targetPragmas)
	version, err := schema.Check(ctx, pool, true)
	if err == nil && version >= 5 { // which adds the tables
		_, err = pool.ExecContext(ctx, "UPDATE recording SET active = 0, kept_after = max(?, "+lastPosition+"); DELETE FROM changes", last)
	}
	if err := errors.Join(err, pool.Close()); err != nil {
		return fmt.Errorf("end the changes of %s: %w", r.with, err)
	}
	file, err := os.Open(r.with)
	if err != nil {
		return err
	}
	defer file.Close()
	return file.Sync()
}
