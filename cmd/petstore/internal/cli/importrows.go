package cli

import (
	"cmp"
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"math"
	"os"
	"strings"

	"example.com/petstore/domain"
	"example.com/petstore/internal/file"
	"example.com/petstore/internal/port"
	"example.com/petstore/usecase"
)

// maxListed is the maximum number of invalid rows that an error lists.
const maxListed = 20

// openInput opens the file to import. The file is read more than once, so standard input, or a path that is not a regular
// file, is first copied to a temporary file, which has no name. openInput returns an error when ctx ends, even while it
// waits for data.
func openInput(ctx context.Context, path string, stdin io.Reader) (*os.File, error) {
	input, err := await(ctx, func() (*os.File, error) { return openOrCopy(path, stdin) })
	if err != nil && ctx.Err() != nil {
		err = errors.New("interrupted: " + storedNothing)
	}
	return input, err
}

func openOrCopy(path string, stdin io.Reader) (*os.File, error) {
	if path == stdio {
		return copyToTemp(stdin)
	}
	input, err := os.Open(path) //nolint:gosec // the operator names the file
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return nil, fmt.Errorf("there is no file %s: correct the path", path)
	case errors.Is(err, fs.ErrPermission):
		return nil, fmt.Errorf("permission denied: let this user read %s", path)
	case err != nil:
		return nil, err
	}
	info, err := input.Stat()
	if err == nil && info.Mode().IsRegular() {
		return input, nil
	}
	defer input.Close()
	switch {
	case err != nil:
		return nil, err
	case info.IsDir():
		return nil, fmt.Errorf("%s is a folder: name a file", path)
	}
	return copyToTemp(input)
}

// copyToTemp copies all data to a temporary file without a name.
func copyToTemp(from io.Reader) (*os.File, error) {
	temp, err := os.CreateTemp("", "petstore-import-")
	if err != nil {
		return nil, err
	}
	err = os.Remove(temp.Name())
	if err == nil {
		_, err = io.Copy(temp, from)
	}
	if err != nil {
		_ = temp.Close()
		return nil, fmt.Errorf("copy the input to a temporary file: %w; the environment variable TMPDIR names another folder", err)
	}
	return temp, nil
}

// A checkedFile is the result of check.
type checkedFile struct {
	info       fs.FileInfo     // the size and time of the file before it was read
	digest     port.FileDigest // of the animals to add
	known      int64           // the number of animals to replace
	unknown    int64           // the number of animals to add
	withID     int64           // how many of them have an id in the file
	rejected   int64
	categories []domain.Category // with --type categories
}

// valid returns the number of rows that violate no rule.
func (c checkedFile) valid() int64 { return c.known + c.unknown + int64(len(c.categories)) }

// isNew reports whether an animal of the file is to be added.
func (r *importRun) isNew(pet domain.Pet) bool { return !r.update || pet.ID == 0 }

// isKnown reports whether an animal of the file is to be replaced.
func isKnown(pet domain.Pet) bool { return pet.ID != 0 }

// rows returns a Reader of the file. It calls report for what it ignores, unless report is nil.
func (r *importRun) rows(in io.Reader, report func(string)) *file.Reader {
	return file.NewReader(in, r.format, file.Options{
		Categories: r.kind == "categories", RequireID: r.update && !r.add, AllColumns: r.update, Titles: r.titles,
		Windows1252: r.encoding == "windows-1252", Report: report,
	})
}

// check reads the file and checks each row. It writes the rows that violate a rule to rejects. If rejects is nil,
// it returns an error that lists them.
func (r *importRun) check(ctx context.Context, rejects *newFile) (err error) {
	if r.checked.info, err = r.input.Stat(); err != nil {
		return err
	}
	progress := newProgress(r.in.Stderr, "bytes checked", int(r.checked.info.Size()))
	defer progress.stop()
	rows := r.rows(io.TeeReader(r.fromStart(), progress), func(text string) { r.in.report("%s: %s", nameOf(r.path), text) })
	invalid, err := r.checkRows(ctx, rows, rejects)
	if err == nil {
		err = problems(invalid, r.checked.rejected, "rows violate a rule", ", or add --rejects FILE to import the others")
	}
	if err != nil {
		return fmt.Errorf("%s: %w", nameOf(r.path), err)
	}
	last := []byte("\n")
	_, _ = r.input.ReadAt(last, int64(progress.done)-1) // does not change last if the file is empty
	if last[0] != '\n' {
		r.in.report("warning: the last line of %s has no line end: the file may be incomplete", nameOf(r.path))
	}
	return nil
}

// fromStart returns a reader of the whole file.
func (r *importRun) fromStart() io.Reader { return io.NewSectionReader(r.input, 0, math.MaxInt64) }

// checkRows counts the valid and the rejected rows, and sets the digest. It writes the rejected rows to rejects. If rejects
// is nil, it returns the first maxListed of them as texts for an error.
func (r *importRun) checkRows(ctx context.Context, rows *file.Reader, rejects *newFile) (listed []string, err error) {
	hash := sha256.New()
	added, rejected := file.NewPetWriter(hash, file.NDJSON, ','), file.NewRejects(rejects, rows)
	ids := map[int64]bool{} // of categories
	for err == nil {
		var row file.Row
		row, err = rows.Read()
		if err == nil && row.Rule == "" && ids[row.Category.ID] {
			row.Rule = fmt.Sprintf("the file has the id %d more than once", row.Category.ID)
		}
		switch {
		case errors.Is(err, io.EOF):
			err = added.Flush()
			r.checked.digest = port.FileDigest(hash.Sum(nil))
			return listed, err
		case err != nil:
		case row.Rule == "" && r.kind == "categories":
			ids[row.Category.ID] = true
			r.checked.categories = append(r.checked.categories, row.Category)
		case row.Rule == "" && r.isNew(row.Pet):
			r.checked.unknown++
			if row.Pet.ID != 0 {
				r.checked.withID++
			}
			err = added.Write(row.Pet.New().WithID(0))
		case row.Rule == "":
			r.checked.known++
		default:
			r.checked.rejected++
			if rejects != nil {
				err = rejected.Write(row)
			} else if len(listed) < maxListed {
				listed = append(listed, fmt.Sprintf("line %d: %s", row.Line, row.Rule))
			}
		}
		err = cmp.Or(err, ctx.Err())
	}
	return nil, err
}

// problems returns an error for n rows or animals, or nil if listed is empty. listed has the texts of the first ones.
func problems(listed []string, n int64, what, remedy string) error {
	switch len(listed) {
	case 0:
		return nil
	case 1:
		return fmt.Errorf("%s; correct the row%s", listed[0], remedy)
	}
	first := ""
	if n > int64(len(listed)) {
		first = fmt.Sprintf(", the first %d are", len(listed))
	}
	return fmt.Errorf("%d %s%s:\n%s\ncorrect them%s", n, what, first, strings.Join(listed, "\n"), remedy)
}

// checkReplaced checks that the animals of the file can replace the stored animals. Its error lists
// the animals that cannot.
func (r *importRun) checkReplaced(ctx context.Context, replacer *usecase.Replacer) error {
	var n int64
	var listed []string
	differing, err := replacer.Check(ctx, r.checked.known, r.valid(ctx, isKnown), func(refusal error) {
		if n++; n <= maxListed {
			listed = append(listed, refusal.Error())
		}
	})
	r.differing = differing
	err = cmp.Or(err, problems(listed, n, "animals cannot be replaced", ""))
	if err != nil {
		err = fmt.Errorf("%s: %w", nameOf(r.path), err)
	}
	return err
}

var errFileChanged = errors.New("the file changed while it was imported")

// valid returns a Source of those animals in the valid rows of the file for which selects returns true. The Source returns
// errFileChanged if the file has fewer than n further animals, or if its size or modification time has changed since before
// the check.
func (r *importRun) valid(ctx context.Context, selects func(domain.Pet) bool) usecase.Source {
	rows := r.rows(r.fromStart(), nil)
	return func(n int) (pets []domain.Pet, err error) {
		for len(pets) < n && err == nil {
			var row file.Row
			if row, err = rows.Read(); err == nil && row.Rule == "" && selects(row.Pet) {
				pets = append(pets, row.Pet)
			}
			err = cmp.Or(ctx.Err(), err)
		}
		info, statErr := r.input.Stat()
		before := r.checked.info
		if errors.Is(err, io.EOF) || statErr == nil && (info.Size() != before.Size() || !info.ModTime().Equal(before.ModTime())) {
			return nil, errFileChanged
		}
		return pets, cmp.Or(statErr, err)
	}
}
