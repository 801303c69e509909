package usecase_test

import (
	"errors"
	"io"
	"strconv"
	"strings"
	"testing"

	"example.com/petstore/domain"
	"example.com/petstore/internal/port"
	"example.com/petstore/internal/test/testkit"
	"example.com/petstore/usecase"
)

// namesOf returns the Source of a file with these names.
func namesOf(names ...string) usecase.Source {
	return func(n int) (pets []domain.Pet, err error) {
		if n > len(names) {
			return nil, io.ErrUnexpectedEOF
		}
		for _, name := range names[:n] {
			pets = append(pets, domain.Pet{ID: 1, Name: name})
		}
		names = names[n:]
		return pets, nil
	}
}

func TestImportContinuesAfterItsLastBatchAndStartsAgain(t *testing.T) {
	t.Parallel()
	const total, size = 1501, 1000
	s := newTestStore(t)
	start := func(again bool, want int64) *usecase.Importer {
		t.Helper()
		importer := usecase.NewImporter(s, port.FileDigest{1}, total)
		if got := must[int64](t)(importer.Start(t.Context(), again)); got != want || importer.Added() != want {
			t.Errorf("got %d and Added %d, want %d", got, importer.Added(), want)
		}
		return importer
	}
	names := make([]string, total)
	for i := range names {
		names[i] = strconv.Itoa(i)
	}
	committed := 0
	run := func(importer *usecase.Importer, names []string) error {
		committed = 0
		return importer.Run(t.Context(), namesOf(names...), func(n int) { committed += n })
	}
	first, second := start(false, 0), start(false, 0)
	if err := run(first, names[:size]); !errors.Is(err, io.ErrUnexpectedEOF) || first.Added() != size || committed != size {
		t.Errorf("the file changed: got %v, Added %d and %d committed", err, first.Added(), committed)
	}
	testkit.Equal(t, "OtherIDs", int64(size-1), first.OtherIDs())
	wantError(t, run(second, names), domain.ErrConflict, "")
	third := start(true, size) // again is true, but has no effect: the import is incomplete
	if err := run(third, names); err != nil || third.Added() != total || committed != total-size {
		t.Errorf("the rest: got %v, Added %d and %d committed", err, third.Added(), committed)
	}
	s.wantNames(t, strings.Join(names, ""))
	start(false, total)
	begunAgain := start(true, 0)
	check(t, run(start(false, 0), names)) // continues the import that begunAgain began
	wantError(t, run(begunAgain, names), domain.ErrConflict, "")
	start(false, total)
	s.wantNames(t, strings.Repeat(strings.Join(names, ""), 2))
}
