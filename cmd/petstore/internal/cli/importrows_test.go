package cli

import (
	"context"
	"database/sql"
	"errors"
	"io"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"example.com/petstore/internal/file"
	"example.com/petstore/repository"
	"example.com/petstore/repository/sqlite"
	"example.com/petstore/usecase"
)

func storePath(dir string) string { return filepath.Join(dir, "petstore.db") }

// wantStored expects these numbers of animals and of imports in the store in dir.
func wantStored(t *testing.T, dir string, pets, imports int) {
	t.Helper()
	db, err := sql.Open("sqlite3", storePath(dir))
	check(t, err)
	defer func() { _ = db.Close() }()
	var gotPets, gotImports int
	const query = "SELECT (SELECT count(*) FROM pets), (SELECT count(*) FROM imports)"
	check(t, db.QueryRowContext(t.Context(), query).Scan(&gotPets, &gotImports))
	if gotPets != pets || gotImports != imports {
		t.Errorf("got %d animals and %d imports, want %d and %d", gotPets, gotImports, pets, imports)
	}
}

// writeRows writes pets.csv to a new folder. It has rows for more than two transactions.
func writeRows(t *testing.T) (dir string) {
	t.Helper()
	dir = t.TempDir()
	check(t, os.WriteFile(filepath.Join(dir, "pets.csv"), []byte("name,categoryId\n"+strings.Repeat("1,7\n", importedRows)), 0o600))
	return dir
}

const importedRows = 2500

// A checkedImport is an import whose file was checked and that has added nothing yet.
type checkedImport struct {
	importRun
	importer *usecase.Importer
}

// run adds the animals.
func (i *checkedImport) run(ctx context.Context) error {
	return i.importer.Run(ctx, i.valid(ctx, i.isNew), func(int) {})
}

// checkImport checks pets.csv in dir for an import to the store in dir.
func checkImport(t *testing.T, dir string) *checkedImport {
	t.Helper()
	input, err := os.OpenFile(filepath.Join(dir, "pets.csv"), os.O_RDWR, 0)
	check(t, err)
	t.Cleanup(func() { _ = input.Close() })
	store, err := repository.Open(t.Context(), sqlite.New(storePath(dir)), repository.Options{})
	check(t, err)
	t.Cleanup(func() { _ = store.Close() })
	i := &checkedImport{importRun: importRun{path: "pets.csv", format: file.CSV, input: input, in: &invocation{Program: Program{Stderr: io.Discard}}}}
	check(t, i.check(t.Context(), nil))
	i.importer = usecase.NewImporter(store, i.checked.digest, i.checked.unknown)
	if i.earlier, err = i.importer.Start(t.Context(), false); err != nil {
		t.Fatal(err)
	}
	return i
}

// The file is changed after it was checked and before it is read again.
func TestImportStoresOnlyWhatWasChecked(t *testing.T) {
	t.Parallel()
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
		"open quote":   overwrite("\"", -4, 1),
		"appended row": overwrite("Rex,7\n", 0, 1),
		"truncated":    func(input *os.File) error { return input.Truncate(int64(len("name,categoryId\n1,7\n"))) },
		"now empty":    func(input *os.File) error { return input.Truncate(0) },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			dir := writeRows(t)
			i := checkImport(t, dir)
			check(t, change(i.input))
			if err := i.run(t.Context()); !errors.Is(err, errFileChanged) {
				t.Errorf("got %v, want %v", err, errFileChanged)
			}
			wantStored(t, dir, 0, 0)
			if added := i.importer.Added(); added != 0 {
				t.Errorf("got Added %d, want 0", added)
			}
		})
	}
}

func TestCheckWarnsOfMissingLineEnd(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]bool{
		"": false, "\n": false, "{}\n": false, "{}\r\n": false,
		"{}": true, "{}\n{}": true, "{}\n ": true,
	} {
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
	dir := writeRows(t)
	imports, errs := []*checkedImport{checkImport(t, dir), checkImport(t, dir), checkImport(t, dir)}, make([]error, 3)
	var running sync.WaitGroup
	for n, i := range imports { // each import has found that nothing was imported
		running.Go(func() { errs[n] = i.run(t.Context()) })
	}
	running.Wait()
	completed := 0
	for n, err := range errs {
		const want = "another process is importing the same file"
		if err == nil {
			completed++
		} else if err.Error() != want || imports[n].importer.Added() != 0 {
			t.Errorf("got %v and Added %d, want %s and 0", err, imports[n].importer.Added(), want)
		}
	}
	if completed != 1 {
		t.Errorf("%d imports completed, want 1", completed)
	}
	wantStored(t, dir, importedRows, 1)
}
