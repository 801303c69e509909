package cli

import (
	"database/sql"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"example.com/petstore/delivery/file"
	"example.com/petstore/domain/port"
	"example.com/petstore/repository"
	"example.com/petstore/repository/sqlite"
	"example.com/petstore/usecase"
)

func storePath(dir string) string { return filepath.Join(dir, "petstore.db") }

func queryInt(t *testing.T, dir, query string) (n int) {
	t.Helper()
	db, err := sql.Open("sqlite3", storePath(dir))
	check(t, err)
	defer func() { _ = db.Close() }()
	check(t, db.QueryRowContext(t.Context(), query).Scan(&n))
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
	check(t, os.WriteFile(filepath.Join(dir, name), []byte(text.String()), 0o600))
}

// wantRows expects the animals of writeRows, each once and in their order.
func wantRows(t *testing.T, dir string, n int) {
	t.Helper()
	const wrong = "SELECT count(*) FROM (SELECT name, row_number() OVER (ORDER BY id) AS n FROM pets) WHERE name <> CAST(n AS TEXT)"
	if total, moved := queryInt(t, dir, "SELECT count(*) FROM pets"), queryInt(t, dir, wrong); total != n || moved != 0 {
		t.Errorf("got %d animals, %d of them not in their order, want %d", total, moved, n)
	}
}

// A checkedImport is an import whose file was checked, and of which nothing was added.
type checkedImport struct {
	importRun
	importer *usecase.Importer
}

// checkImport checks pets.csv in dir for an import to the store in dir.
func checkImport(t *testing.T, dir string) *checkedImport {
	t.Helper()
	input, err := os.OpenFile(filepath.Join(dir, "pets.csv"), os.O_RDWR, 0)
	check(t, err)
	t.Cleanup(func() { _ = input.Close() })
	store, err := repository.Open(t.Context(), sqlite.New(storePath(dir)), repository.Options{Migrate: true})
	check(t, err)
	t.Cleanup(func() { _ = store.Close() })
	i := &checkedImport{importRun: importRun{path: "pets.csv", format: file.CSV, input: input, in: &invocation{Program: Program{Stderr: io.Discard}}}}
	check(t, i.check(t.Context(), nil))
	i.importer = usecase.NewImporter(store, i.checked.digest, clock)
	if i.earlier, err = i.importer.Start(t.Context(), false); err != nil {
		t.Fatal(err)
	}
	return i
}

// The file is changed between the two times that it is read.
func TestImportStoresOnlyWhatWasChecked(t *testing.T) {
	t.Parallel()
	const rows = 2*importBatchSize + 500
	overwrite := func(text string, offset, whence int64) func(*os.File) error {
		return func(input *os.File) error {
			info, err := input.Stat()
			if err != nil {
				return err
			}
			_, err = input.WriteAt([]byte(text), offset+whence*info.Size())
			return err
		}
	}
	for name, change := range map[string]func(*os.File) error{
		"last row":     overwrite("8", -2, 1),
		"first row":    overwrite("9", int64(len("name,categoryId\n")), 0),
		"header":       overwrite("categoryId,name", 0, 0),
		"bad header":   overwrite("x", 0, 0),
		"open quote":   overwrite("\"", -7, 1),
		"appended row": overwrite("Rex,7\n", 0, 1),
		"truncated":    func(input *os.File) error { return input.Truncate(int64(len("name,categoryId\n1,7\n"))) },
		"now empty":    func(input *os.File) error { return input.Truncate(0) },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			dir := t.TempDir()
			writeRows(t, dir, "pets.csv", rows)
			i := checkImport(t, dir)
			check(t, change(i.input))
			if err := i.add(t.Context(), i.importer); !errors.Is(err, errFileChanged) {
				t.Errorf("got %v, want %v", err, errFileChanged)
			}
			wantRows(t, dir, 0)
			if n := queryInt(t, dir, "SELECT count(*) FROM imports"); n != 0 || i.importer.Added() != 0 {
				t.Errorf("got %d imports and Added %d, want none", n, i.importer.Added())
			}
		})
	}
}

func TestCheckWarnsOfMissingLineEnd(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]bool{"": false, "\n": false, "{}\n": false, "{}\r\n": false, "{}": true, "{}\n{}": true, "{}\n ": true} {
		text = strings.ReplaceAll(text, "{}", `{"name":"Rex","categoryId":7}`)
		path := filepath.Join(t.TempDir(), "pets.ndjson")
		check(t, os.WriteFile(path, []byte(text), 0o600))
		input, err := os.Open(path)
		check(t, err)
		defer input.Close()
		var stderr strings.Builder
		run := importRun{path: path, format: file.NDJSON, input: input, in: &invocation{Program: Program{Stderr: &stderr}}}
		check(t, run.check(t.Context(), nil))
		if got := strings.Contains(stderr.String(), "has no line end"); got != want {
			t.Errorf("%q: got the warning %t, want %t", text, got, want)
		}
	}
}

func TestConcurrentImportsOfOneFileAddEachRowOnce(t *testing.T) {
	t.Parallel()
	const rows = 20 * importBatchSize
	dir := t.TempDir()
	writeRows(t, dir, "pets.csv", rows)
	imports, errs := []*checkedImport{checkImport(t, dir), checkImport(t, dir), checkImport(t, dir)}, make([]error, 3)
	var running sync.WaitGroup
	for n, i := range imports { // all have found that nothing was imported
		running.Go(func() { errs[n] = i.add(t.Context(), i.importer) })
	}
	running.Wait()
	completed := 0
	for n, err := range errs {
		if err == nil {
			completed++
		} else if err.Error() != "another process is importing the same file" || imports[n].importer.Added() != 0 {
			t.Errorf("got %v and Added %d, want %v and 0", err, imports[n].importer.Added(), "another process is importing the same file")
		}
	}
	if completed != 1 {
		t.Errorf("%d imports completed, want 1", completed)
	}
	wantRows(t, dir, rows)
}

func TestStoppedImportSaysHowToContinue(t *testing.T) {
	t.Parallel()
	failed := errors.New("failed")
	for _, test := range []struct {
		again          bool
		err            error
		earlier, added int64
		want           string
	}{
		{false, failed, 0, 0, "added 0 of 9 animals; run the same command again to continue"},
		{false, failed, 0, 5, "added 5 of 9 animals; run the same command again to continue"},
		{false, failed, 5, 5, "this run added 0 of 9 animals, earlier runs 5; run the same command again to continue"},
		{true, failed, 0, 0, "added 0 of 9 animals; run the same command again to continue"},
		{true, failed, 0, 5, "added 5 of 9 animals; run the command again without --again to continue"},
		{true, failed, 5, 7, "this run added 2 of 9 animals, earlier runs 5; run the command again without --again to continue"},
		{false, errFileChanged, 0, 0, "added 0 of 9 animals; run the same command again when the file does not change"},
		{false, fmt.Errorf("pets.csv: %w", errFileChanged), 0, 5, "added 5 of 9 animals; to continue, import a copy of the file as it was: of the changed file, all animals would be added"},
	} {
		run := importRun{again: test.again, checked: checkedFile{pets: 9}, earlier: port.ImportState{Added: test.earlier}}
		if got := run.outcome(test.err, test.added); got != test.want {
			t.Errorf("%+v: got %q, want %q", test, got, test.want)
		}
	}
}
