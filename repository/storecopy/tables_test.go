package storecopy_test

import (
	"os"
	"path/filepath"
	"testing"

	"example.com/petstore/repository/storecopy"
	"example.com/petstore/repository/storetest"
)

func TestCopyHasEveryColumn(t *testing.T) {
	t.Parallel()
	// Not the changes: the followers of a copy begin again.
	db := openFile(t, newFile(t))
	defer func() { _ = db.Close() }()
	rows, err := db.QueryContext(t.Context(), `SELECT t.name, group_concat(c.name, ', ') FROM sqlite_schema AS t, pragma_table_info(t.name) AS c
		WHERE t.type = 'table' AND t.name NOT LIKE 'sqlite_%' AND t.name NOT IN ('goose_db_version', 'unfinished_copy', 'changes', 'recording') GROUP BY t.name`)
	check(t, err)
	defer rows.Close()
	want := map[string]string{}
	for rows.Next() {
		var table, columns string
		check(t, rows.Scan(&table, &columns))
		want[table] = columns
	}
	storetest.Equal(t, "the columns", want, storecopy.CopiedColumns(), rows.Err())
}

func TestCopyKeepsValuesAtTheLimits(t *testing.T) {
	t.Parallel()
	limits, err := os.ReadFile("testdata/limits.sql")
	check(t, err)
	from, to := newFile(t, string(limits)), filepath.Join(t.TempDir(), "copy.db")
	result, err := copyFile(t.Context(), from, to)
	if err != nil || rowsOf(result) != 19 || len(result.Tables) != 5 {
		t.Errorf("got %+v and %v, want 19 rows of 5 tables", result, err)
	}
	wantSame(t, from, to)
}
