package storecopy_test

import (
	"context"
	"path/filepath"
	"strings"
	"testing"

	"example.com/petstore/repository"
	"example.com/petstore/repository/sqlite"
	"example.com/petstore/repository/storetest"
)

func TestCopyRejectsTargetThatIsNotEmpty(t *testing.T) {
	t.Parallel()
	for _, insert := range []string{
		"INSERT INTO pets (name, category_id) VALUES ('Rex', 1)",
		"INSERT INTO api_keys (hash, name, last_four, created_at) VALUES (zeroblob(32), '', 'aaaa', 1)",
		"INSERT INTO idempotency_keys VALUES ('', '', zeroblob(32), NULL, 1)",
		"INSERT INTO imports VALUES (zeroblob(32), 0, 0, 1)",
	} {
		from, to := newFile(t, manyPets), newFile(t, insert)
		before := dump(t, to)
		_, err := copyFile(t.Context(), from, to)
		wantText(t, err, "copy to %s: it is not empty: name a new file or an empty database", to)
		storetest.Equal(t, "the target changed (-before +after)", before, dump(t, to))
	}
}

// interruptCopy interrupts a copy of manyPets after a number of rows.
func interruptCopy(t *testing.T, from, to string, rows int) {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	result, err := copyStore(ctx, sqlite.New(from), sqlite.New(to), false, func(n int) {
		if rows -= n; rows <= 0 {
			cancel()
		}
	})
	if err == nil || !result.Started || len(result.Tables) > 0 || !strings.Contains(dump(t, to), "SELECT * FROM pets") {
		t.Fatalf("got %+v and %v, want a copy that is interrupted", result, err)
	}
}

func TestUnfinishedCopyCannotBeOpenedOrCopied(t *testing.T) {
	t.Parallel()
	from, to := newFile(t, manyPets), filepath.Join(t.TempDir(), "copy.db")
	interruptCopy(t, from, to, 1)
	before := dump(t, to)
	const beginsAnew = " %s: it is an unfinished copy of %s: run the same petstore copy again, which begins anew, or use another store"
	_, err := repository.Open(t.Context(), sqlite.New(to), repository.Options{Migrate: true})
	wantText(t, err, "open the store"+beginsAnew, to, from)
	_, err = copyFile(t.Context(), to, filepath.Join(t.TempDir(), "other.db"))
	wantText(t, err, "open the source"+beginsAnew, to, from)
	_, err = copyFile(t.Context(), newFile(t, manyPets), to)
	wantText(t, err, "copy to %s: it is an unfinished copy of %s: copy from that, or name an empty target", to, from)
	storetest.Equal(t, "the target changed (-before +after)", before, dump(t, to))
}

func TestInterruptedCopyBeginsAnew(t *testing.T) {
	t.Parallel()
	const inPets, inOrders = 1, 12001
	for name, test := range map[string]struct {
		rows   int
		change string // of the source, after the interruption
	}{
		"unchanged source":                   {inPets, ""},
		"unchanged source, in a later table": {inOrders, ""},
		"new rows":                           {inPets, "INSERT INTO pets (name, category_id) VALUES ('new', 1); UPDATE pets SET name = 'changed' WHERE id = 11000"},
		"another value":                      {inPets, "UPDATE pets SET status = 'sold' WHERE id = 1"},
		"other values, in a later table":     {inOrders, "UPDATE orders SET status = 'delivered' WHERE id = 1; UPDATE pets SET status = 'sold' WHERE id = 10"},
		"a row less":                         {inPets, "DELETE FROM pets WHERE id = 1"},
		"few rows":                           {inPets, "DELETE FROM orders; DELETE FROM pets WHERE id > 10"},
		"no rows":                            {inOrders, "DELETE FROM orders; DELETE FROM pets"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			from, to := newFile(t, manyPets), filepath.Join(t.TempDir(), "copy.db")
			interruptCopy(t, from, to, test.rows)
			execute(t, from, test.change)
			result, err := copyFile(t.Context(), from, to)
			storetest.Equal(t, "the number of tables", 5, len(result.Tables), err)
			wantSame(t, from, to)
			create(t, sqlite.New(to)) // it is no unfinished copy
		})
	}
}

func TestCopyComparesTheRowsOfTheTarget(t *testing.T) {
	t.Parallel()
	from := newFile(t, manyPets)
	to := newFile(t, "CREATE TRIGGER change AFTER INSERT ON pets WHEN new.id = 7000 BEGIN UPDATE pets SET category_id = 0 WHERE id = 7000; END")
	_, err := copyFile(t.Context(), from, to)
	storetest.WantMessage(t, "the error", err, "table pets: the target has 12000 rows with the SHA-256 ")
	if _, err := repository.Open(t.Context(), sqlite.New(to), repository.Options{}); err == nil {
		t.Error("the target was opened, want that it is unfinished")
	}
}

func TestNewIDsContinueAfterThoseOfTheSource(t *testing.T) {
	t.Parallel()
	from := newFile(t, "INSERT INTO pets (id, name, category_id) VALUES (41, 'Rex', 1), (42, 'Tom', 1)", "DELETE FROM pets WHERE id = 42")
	to := filepath.Join(t.TempDir(), "copy.db")
	_, err := copyFile(t.Context(), from, to)
	check(t, err)
	for _, path := range []string{from, to} {
		execute(t, path, "INSERT INTO pets (name, category_id) VALUES ('Bob', 1)", "INSERT INTO orders (pet_id, status, created_at, updated_at) VALUES (43, 'placed', 1, 1)")
	}
	wantSame(t, from, to)
}
