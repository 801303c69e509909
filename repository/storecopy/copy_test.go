package storecopy_test

import (
	"database/sql"
	"path/filepath"
	"testing"

	"example.com/petstore/repository/sqlite"
	"example.com/petstore/repository/storetest"
)

func TestCopyDoesNotMigrateExistingStores(t *testing.T) {
	t.Parallel()
	for name, want := range map[string]string{"from": "open the source", "to": "open the target"} {
		paths := map[string]string{"from": newFile(t), "to": newFile(t)}
		execute(t, paths[name], "DELETE FROM goose_db_version WHERE version_id > 3")
		_, err := copyFile(t.Context(), paths["from"], paths["to"])
		wantText(t, err, "%s %s: wrong schema version: the store has 3, this program needs 5: run petstore migrate up", want, paths[name])
	}
}

func TestOthersCannotUseAStoreThatIsCopied(t *testing.T) {
	t.Parallel()
	from, to := newFile(t, manyPets), filepath.Join(t.TempDir(), "copy.db")
	source := openFile(t, from)
	defer func() { _ = source.Close() }()
	_, err := copyStore(t.Context(), sqlite.New(from), sqlite.New(to), false, atFirstRows(t, func() {
		target := openFile(t, to)
		defer func() { _ = target.Close() }()
		for name, db := range map[string]*sql.DB{"source": source, "target": target} {
			_, err := db.ExecContext(t.Context(), "DELETE FROM orders")
			storetest.WantMessage(t, name, err, "locked")
		}
	}))
	check(t, err)
	wantSame(t, from, to)
}

func TestSnapshotIsOneStateOfTheSource(t *testing.T) {
	t.Parallel()
	from, to := newFile(t, manyPets), filepath.Join(t.TempDir(), "copy.db")
	before := dump(t, from)
	result, err := copyStore(t.Context(), sqlite.New(from), sqlite.New(to), true, atFirstRows(t, func() {
		execute(t, from, "UPDATE orders SET status = 'delivered'; UPDATE pets SET status = 'sold' WHERE status = 'pending'; INSERT INTO pets (name, category_id) VALUES ('new', 1)")
	}))
	storetest.Equal(t, "the rows", int64(13200), rowsOf(result), err)
	storetest.Equal(t, "(-source +target)", before, dump(t, to))
}
