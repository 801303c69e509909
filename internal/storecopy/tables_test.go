package storecopy_test

import (
	"context"
	"os"
	"testing"
	"time"

	"example.com/petstore/domain"
	"example.com/petstore/internal/port"
	"example.com/petstore/internal/storecopy"
	"example.com/petstore/internal/test/testkit"
	"example.com/petstore/repository"
)

func TestCopyHasEveryColumn(t *testing.T) {
	t.Parallel()
	db := openDB(t, newFile(t))
	defer func() { _ = db.Close() }()
	rows, err := db.QueryContext(t.Context(), `SELECT t.name, group_concat(c.name, ', ') FROM sqlite_schema AS t, pragma_table_info(t.name) AS c
		WHERE t.type = 'table' AND t.name NOT LIKE 'sqlite_%'
		AND t.name NOT IN ('store', 'petstore_schema_version', 'store_file', 'unfinished_copy') GROUP BY t.name`)
	check(t, err)
	defer rows.Close()
	want := map[string]string{}
	for rows.Next() {
		var table, columns string
		check(t, rows.Scan(&table, &columns))
		want[table] = columns
	}
	testkit.Equal(t, "the columns", want, storecopy.CopiedColumns(), rows.Err())
}

// The values are the same after both copies. New ids continue after the ids that were deleted.
func TestCopyToPostgresAndBackKeepsValuesAtTheLimits(t *testing.T) {
	t.Parallel()
	limits, err := os.ReadFile("testdata/limits.sql")
	check(t, err)
	from, between, to := newFile(t, string(limits)), server.NewDatabase(t), missingFile(t)
	there, err := copyStore(t, from, between, ignore)
	check(t, err)
	back, err := copyStore(t, between, to, ignore)
	check(t, err)
	testkit.Equal(t, "what was copied back", there, back)
	if rowsOf(there) != 26 || len(there.Tables) != 7 {
		t.Errorf("got %+v, want 26 rows of 7 tables", there)
	}
	wantSame(t, from, to)
	for _, dsn := range []string{from, between, to} {
		store, err := repository.Open(t.Context(), engineOf(dsn), repository.Options{})
		check(t, err)
		check(t, store.InTx(t.Context(), func(ctx context.Context, r port.Repositories) error {
			pets, err := r.Pets.Create(ctx, []domain.NewPet{{Name: "the last id"}})
			if err != nil {
				return err
			}
			order, err := r.Orders.Create(ctx, pets[0].ID, time.UnixMilli(1))
			if pets[0].ID != 1<<63-1 || order.ID != 101 {
				t.Errorf("%s: got the pet %d and the order %d, want the last id and 101", dsn, pets[0].ID, order.ID)
			}
			return err
		}))
		check(t, store.Close())
	}
}
