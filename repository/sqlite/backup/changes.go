//go:build cgo

package backup

import (
	"context"
	"errors"
	"os"
	"time"

	"example.com/petstore/repository/sqlite/internal/schema"
	"example.com/petstore/repository/sqlite/internal/storefile"
)

// RestartChanges gives the changes of the store in a file, which no other process may use, positions that
// were not used before, if changes are recorded: those after the backup are those of other changes. It
// returns when the file is on disk.
func RestartChanges(ctx context.Context, file *os.File, now time.Time) error {
	pool := storefile.OpenPool(file.Name(), targetPragmas)
	version, err := schema.Check(ctx, pool, true)
	if err == nil && version >= 5 { // which adds the table
		_, err = pool.ExecContext(ctx, `BEGIN;
			INSERT INTO changes (id, type, at, record_id) SELECT max(max(id) + 1, ?1 * 1000), 'begin', ?1, 0 FROM changes HAVING count(*) > 0;
			DELETE FROM changes WHERE id < (SELECT max(id) FROM changes);
			COMMIT`, now.UnixMilli())
	}
	if err := errors.Join(err, pool.Close()); err != nil {
		return err
	}
	return file.Sync()
}
