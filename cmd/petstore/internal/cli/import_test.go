package cli

import (
	"errors"
	"fmt"
	"testing"

	"example.com/petstore/domain/port"
)

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
		{
			false, fmt.Errorf("pets.csv: %w", errFileChanged), 0, 5,
			"added 5 of 9 animals; to continue, import a copy of the file as it was: of the changed file, all animals would be added",
		},
	} {
		run := importRun{again: test.again, checked: checkedFile{pets: 9}, earlier: port.ImportState{Added: test.earlier}}
		if got := run.outcome(test.err, test.added); got != test.want {
			t.Errorf("%+v: got %q, want %q", test, got, test.want)
		}
	}
}
