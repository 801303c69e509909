package cli

import (
	"database/sql"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// storePath returns the path of the store in dir.
func storePath(dir string) string { return filepath.Join(dir, "petstore.db") }

// queryInt returns the number that a query returns from the store in dir.
func queryInt(t *testing.T, dir, query string) (n int) {
	t.Helper()
	db, err := sql.Open("sqlite3", storePath(dir))
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = db.Close() }()
	if err := db.QueryRowContext(t.Context(), query).Scan(&n); err != nil {
		t.Fatal(err)
	}
	return n
}

// writeRows writes a file of n animals.
func writeRows(t *testing.T, dir, name string, n int) {
	t.Helper()
	var text strings.Builder
	text.WriteString("name,categoryId\n")
	for i := range n {
		fmt.Fprintf(&text, "%d,7\n", i+1)
	}
	if err := os.WriteFile(filepath.Join(dir, name), []byte(text.String()), 0o600); err != nil {
		t.Fatal(err)
	}
}

// wantRows expects the animals of writeRows, each once and in their order.
func wantRows(t *testing.T, dir string, n int) {
	t.Helper()
	total := queryInt(t, dir, "SELECT count(*) FROM pets")
	ordered := queryInt(t, dir, "SELECT count(*) FROM (SELECT name, row_number() OVER (ORDER BY id) AS n FROM pets) WHERE name = CAST(n AS TEXT)")
	if total != n || ordered != n {
		t.Errorf("got %d animals, %d of them in their order, want %d", total, ordered, n)
	}
}

// modes returns the permissions of the files in dir by their names.
func modes(t *testing.T, dir string) map[string]fs.FileMode {
	t.Helper()
	entries, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	found := map[string]fs.FileMode{}
	for _, entry := range entries {
		info, err := entry.Info()
		if err != nil {
			t.Fatal(err)
		}
		found[entry.Name()] = info.Mode().Perm()
	}
	return found
}
