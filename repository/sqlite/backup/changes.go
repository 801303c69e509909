//go:build cgo

package backup

import (
	"context"
	"errors"
	"os"

	"example.com/petstore/repository/sqlite"
	"example.com/petstore/repository/sqlite/internal/schema"
	"example.com/petstore/repository/sqlite/internal/storefile"
)

// EndChanges ends the recording of changes in the store of a file, which no other process may use: the
// positions after the backup are those of other changes. The service begins a new one, with other
// positions. EndChanges returns when the file is on disk.
func EndChanges(ctx context.Context, file *os.File) error {
	pool := storefile.OpenPool(file.Name(), targetPragmas)
	version, err := schema.Check(ctx, pool, true)
	if err == nil && version >= 5 { // which adds the tables
		_, err = pool.ExecContext(ctx, `UPDATE recording SET active = 0, kept_after = COALESCE((SELECT max(id) FROM changes), kept_after);
			DELETE FROM changes`)
	}
	if err := errors.Join(err, pool.Close()); err != nil {
		return sqlite.New(file.Name()).Remedy(err)
	}
	return file.Sync()
}
