package cli

import (
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"example.com/petstore/domain"
	"example.com/petstore/internal/file"
	"example.com/petstore/internal/test/testkit"
	"example.com/petstore/repository"
	"example.com/petstore/repository/sqlite"
	"example.com/petstore/usecase"
)

func TestStoppedImportSaysHowToContinue(t *testing.T) {
	t.Parallel()
	failed := errors.New("failed")
	for _, test := range []struct {
		again   bool
		err     error
		started bool
		added   int64
		want    string
	}{
		{false, failed, true, 0, "added 0 of 9 animals; run the same command again to continue"},
		{true, failed, false, 0, "added 0 of 9 animals; run the same command again to continue"},
		{true, failed, true, 0, "added 0 of 9 animals; run the command again without --again to continue"},
		{true, errFileChanged, true, 0, "added 0 of 9 animals; run the same command again when the file does not change"},
		{false, errFileChanged, true, 0, "added 0 of 9 animals; run the same command again when the file does not change"},
		{
			false, fmt.Errorf("pets.csv: %w", errFileChanged), true, 5,
			"added 5 of 9 animals; to continue, import a copy of the file as it was: of the changed file, all animals would be added",
		},
	} {
		run := importRun{again: test.again, checked: checkedFile{unknown: 9}}
		if got := run.outcome(test.err, test.started, test.added); got != test.want {
			t.Errorf("%+v: got %q, want %q", test, got, test.want)
		}
	}
}

// While an update runs, another process removes an animal of the file.
func TestUpdateSaysToCorrectTheRowThatItCannotReplace(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "pets.csv")
	check(t, os.WriteFile(path, []byte("id,name,categoryId,status\n1,Rex,7,\n"), 0o600))
	input, err := os.Open(path)
	check(t, err)
	defer input.Close()
	store, err := repository.Open(t.Context(), sqlite.New(storePath(t.TempDir())), repository.Options{})
	check(t, err)
	defer func() { testkit.Check(t, store.Close()) }()
	run := importRun{path: path, format: file.CSV, update: true, input: input, in: &invocation{Program: Program{Stderr: io.Discard}}}
	check(t, run.check(t.Context(), nil))
	err = run.replace(t.Context(), usecase.NewReplacer(store, store.Pets(), store.Orders()))
	const want = "there is no pet with the id 1: replaced 0 animals; correct the row, then run the same command again"
	if err == nil || err.Error() != want {
		t.Errorf("got %v, want %s", err, want)
	}
}

// If a part of the import forgot a field, the field would be lost without an error.
func TestImportStoresEveryFieldOfTheFile(t *testing.T) {
	t.Parallel()
	for _, name := range []string{"pets.csv", "pets.ndjson"} {
		dir, pet := t.TempDir(), testkit.Filled[domain.Pet](t, domain.PetSold)
		pet.ID = 1
		path := filepath.Join(dir, name)
		out, err := os.Create(path)
		check(t, err)
		writer := file.NewPetWriter(out, file.FormatOf(path), ',')
		check(t, errors.Join(writer.Write(pet), writer.Flush(), out.Close()))
		for _, args := range []string{"seed --count 1 --orders 0", "import " + path, "import " + path + " --update"} {
			var stderr strings.Builder
			program := Program{Args: append(strings.Fields(args), "--set", "database.dsn="+storePath(dir)), Stdout: io.Discard, Stderr: &stderr}
			if code := Run(t.Context(), program); code != 0 {
				t.Errorf("%s: got code %d and %q", args, code, stderr.String())
			}
		}
		store, err := repository.Open(t.Context(), sqlite.New(storePath(dir)), repository.Options{})
		check(t, err)
		for ; pet.ID <= 2; pet.ID++ { // replaces animal 1, adds animal 2
			got, err := store.Pets().Get(t.Context(), pet.ID)
			testkit.Equal(t, name, pet, got, err)
		}
		check(t, store.Close())
	}
}
