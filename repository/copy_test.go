package repository_test

import (
	"database/sql"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"example.com/petstore/repository"
	"example.com/petstore/repository/sqlite"
)

func TestCopyHasEveryColumn(t *testing.T) {
	t.Parallel()
	db := openFile(t, newFile(t))
	defer func() { _ = db.Close() }()
	rows, err := db.QueryContext(t.Context(), `SELECT t.name, group_concat(c.name, ', ') FROM sqlite_schema AS t, pragma_table_info(t.name) AS c
		WHERE t.type = 'table' AND t.name NOT LIKE 'sqlite_%' AND t.name NOT IN ('goose_db_version', 'unfinished_copy') GROUP BY t.name`)
	if err != nil {
		t.Fatal(err)
	}
	defer rows.Close()
	want := map[string]string{}
	for rows.Next() {
		var table, columns string
		if err := rows.Scan(&table, &columns); err != nil {
			t.Fatal(err)
		}
		want[table] = columns
	}
	if diff := cmp.Diff(want, repository.CopiedColumns()); diff != "" || rows.Err() != nil {
		t.Errorf("%v (-schema +copied)\n%s", rows.Err(), diff)
	}
}

func TestCopyKeepsValuesAtTheLimits(t *testing.T) {
	t.Parallel()
	limits, err := os.ReadFile("testdata/limits.sql")
	if err != nil {
		t.Fatal(err)
	}
	from, to := newFile(t, string(limits)), filepath.Join(t.TempDir(), "copy.db")
	result, err := copyFile(t.Context(), from, to)
	if err != nil || result.Rows != 19 || result.Copied != 19 || len(result.Tables) != 5 {
		t.Errorf("got %+v and %v, want 19 rows of 5 tables", result, err)
	}
	wantSame(t, from, to)
}

func TestCopyOfEmptyStore(t *testing.T) {
	t.Parallel()
	from, to := newFile(t), newFile(t)
	if _, err := copyFile(t.Context(), from, to); err != nil {
		t.Fatal(err)
	}
	wantSame(t, from, to)
}

func TestNewIDsContinueAfterThoseOfTheSource(t *testing.T) {
	t.Parallel()
	from := newFile(t, "INSERT INTO pets (id, name, category_id) VALUES (41, 'Rex', 1), (42, 'Tom', 1)", "DELETE FROM pets WHERE id = 42")
	to := filepath.Join(t.TempDir(), "copy.db")
	if _, err := copyFile(t.Context(), from, to); err != nil {
		t.Fatal(err)
	}
	for _, path := range []string{from, to} {
		execute(t, path, "INSERT INTO pets (name, category_id) VALUES ('Bob', 1)", "INSERT INTO orders (pet_id, status, created_at, updated_at) VALUES (43, 'placed', 1, 1)")
	}
	wantSame(t, from, to)
}

func TestCopyRejectsTargetThatIsNotEmpty(t *testing.T) {
	t.Parallel()
	for table, insert := range map[string]string{
		"pets":             "INSERT INTO pets (name, category_id) VALUES ('Rex', 1)",
		"api_keys":         "INSERT INTO api_keys (hash, name, last_four, created_at) VALUES (zeroblob(32), '', 'aaaa', 1)",
		"idempotency_keys": "INSERT INTO idempotency_keys VALUES ('', '', zeroblob(32), NULL, 1)",
		"imports":          "INSERT INTO imports VALUES (zeroblob(32), 0, 0, 1)",
	} {
		from, to := newFile(t, manyPets), newFile(t, insert)
		before := dump(t, to)
		_, err := copyFile(t.Context(), from, to)
		want := fmt.Sprintf("copy to %s: it is not empty, the table %s has rows: name a new file or an empty database", to, table)
		if err == nil || err.Error() != want {
			t.Errorf("got %v, want %s", err, want)
		}
		if diff := cmp.Diff(before, dump(t, to)); diff != "" {
			t.Errorf("the target changed (-before +after)\n%s", diff)
		}
	}
}

func TestCopyDoesNotMigrateExistingStores(t *testing.T) {
	t.Parallel()
	for name, want := range map[string]string{"from": "open the source", "to": "open the target"} {
		paths := map[string]string{"from": newFile(t), "to": newFile(t)}
		execute(t, paths[name], "ALTER TABLE api_keys DROP COLUMN read_only", "DELETE FROM goose_db_version WHERE version_id > 3")
		_, err := copyFile(t.Context(), paths["from"], paths["to"])
		if want = fmt.Sprintf("%s %s: wrong schema version: the store has 3, this program needs 4: run petstore migrate up", want, paths[name]); err == nil || err.Error() != want {
			t.Errorf("got %v, want %s", err, want)
		}
	}
}

func TestOthersCannotUseAStoreThatIsCopied(t *testing.T) {
	t.Parallel()
	from, to := newFile(t, manyPets), filepath.Join(t.TempDir(), "copy.db")
	source := openFile(t, from)
	defer func() { _ = source.Close() }()
	tried := false
	_, err := repository.Copy(t.Context(), sqlite.New(from), sqlite.New(to), repository.CopyOptions{Progress: func(string, int) func(int) {
		return func(int) {
			if tried {
				return
			}
			tried = true
			target := openFile(t, to)
			defer func() { _ = target.Close() }()
			for name, db := range map[string]*sql.DB{"source": source, "target": target} {
				if _, err := db.ExecContext(t.Context(), "DELETE FROM orders"); err == nil || !strings.Contains(err.Error(), "locked") {
					t.Errorf("%s: got %v, want that it is locked", name, err)
				}
			}
		}
	}})
	if err != nil || !tried {
		t.Error(err)
	}
	wantSame(t, from, to)
}

func TestSnapshotIsOneStateOfTheSource(t *testing.T) {
	t.Parallel()
	from, to := newFile(t, manyPets), filepath.Join(t.TempDir(), "copy.db")
	before := dump(t, from)
	changed := false
	result, err := repository.Copy(t.Context(), sqlite.New(from), sqlite.New(to), repository.CopyOptions{Snapshot: true, Progress: func(string, int) func(int) {
		return func(int) {
			if !changed {
				execute(t, from, "UPDATE orders SET status = 'delivered'; UPDATE pets SET status = 'sold' WHERE status = 'pending'; INSERT INTO pets (name, category_id) VALUES ('new', 1)")
			}
			changed = true
		}
	}})
	if err != nil || !changed || result.Copied != result.Rows {
		t.Errorf("got %+v and %v, want all rows", result, err)
	}
	if diff := cmp.Diff(before, dump(t, to)); diff != "" {
		t.Errorf("(-source +target)\n%s", diff)
	}
}

func TestCopyComparesTheRowsOfTheTarget(t *testing.T) {
	t.Parallel()
	from := newFile(t, manyPets)
	to := newFile(t, "CREATE TRIGGER change AFTER INSERT ON pets WHEN new.id = 7000 BEGIN UPDATE pets SET category_id = 0 WHERE id = 7000; END")
	_, err := copyFile(t.Context(), from, to)
	if err == nil || !strings.Contains(err.Error(), "table pets: the target has 12000 rows with the SHA-256 ") {
		t.Errorf("got %v, want that the rows differ", err)
	}
	if _, err := repository.Open(t.Context(), sqlite.New(to), repository.Options{}); err == nil {
		t.Error("the target was opened, want that it is unfinished")
	}
}
