package cli

import (
	"bytes"
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"math"
	"os"
	"strings"

	"example.com/petstore/delivery/file"
	"example.com/petstore/domain"
	"example.com/petstore/domain/port"
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
		err = errors.New("interrupted: this run stored nothing")
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
	info     fs.FileInfo     // the size and time of the file before it was read
	digest   port.FileDigest // zero unless the whole file was read
	pets     int64
	rejected int
}

// A rejectedRow is the JSON that the file of --rejects has for a row that violates a rule.
type rejectedRow struct {
	Line int64  `json:"line"`
	Rule string `json:"rule"`
	Row  string `json:"row"`
}

// isRejected reports whether a row is a rejectedRow: the input is then a file that --rejects has written.
func isRejected(row []byte) bool {
	decoder := json.NewDecoder(bytes.NewReader(row))
	decoder.DisallowUnknownFields()
	var rejected rejectedRow
	return decoder.Decode(&rejected) == nil && rejected.Line > 0 && rejected.Rule != ""
}

// check reads the file and checks each row. It writes the rows that violate a rule to rejects. If rejects is nil,
// it returns an error that lists them.
func (r *importRun) check(ctx context.Context, rejects *newFile) (err error) {
	if r.checked.info, err = r.input.Stat(); err != nil {
		return err
	}
	progress := newProgress(r.in.Stderr, "bytes checked", int(r.checked.info.Size()))
	defer progress.stop()
	hash := sha256.New()
	rows := file.NewReader(io.TeeReader(r.fromStart(), io.MultiWriter(hash, progress)), r.format, r.update)
	invalid, err := r.checkRows(ctx, rows, rejects)
	if err == nil {
		r.checked.digest = port.FileDigest(hash.Sum(nil))
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

// checkRows counts the valid and the rejected rows. It writes the rejected rows to rejects. If rejects is nil, it returns
// the first maxListed of them as texts for an error.
func (r *importRun) checkRows(ctx context.Context, rows file.Reader, rejects *newFile) (listed []string, err error) {
	encoder := json.NewEncoder(rejects)
	encoder.SetEscapeHTML(false)
	for {
		row, err := rows.Read()
		if errors.Is(err, io.EOF) {
			return listed, nil
		}
		if err := cmp.Or(err, ctx.Err()); err != nil {
			return nil, err
		}
		if row.Rule == "" {
			r.checked.pets++
			continue
		}
		if r.checked.rejected++; r.checked.rejected == 1 && isRejected(row.Text) {
			return nil, fmt.Errorf("line %d: this row was written by --rejects: write the text of each member row to a file, "+
				"for CSV after the header, correct it, and import that file", row.Line)
		}
		if rejects != nil {
			err = encoder.Encode(rejectedRow{Line: row.Line, Rule: row.Rule, Row: string(row.Text)})
		} else if len(listed) < maxListed {
			listed = append(listed, fmt.Sprintf("line %d: %s", row.Line, row.Rule))
		}
		if err != nil {
			return nil, err
		}
	}
}

// problems returns an error for n rows or animals, or nil if listed is empty. listed has the texts of the first ones.
func problems(listed []string, n int, what, remedy string) error {
	switch len(listed) {
	case 0:
		return nil
	case 1:
		return fmt.Errorf("%s; correct the row%s", listed[0], remedy)
	}
	first := ""
	if n > len(listed) {
		first = fmt.Sprintf(", the first %d are", len(listed))
	}
	return fmt.Errorf("%d %s%s:\n%s\ncorrect them%s", n, what, first, strings.Join(listed, "\n"), remedy)
}

// checkReplaced checks that the animals of the file can replace the stored animals. Its error lists
// the animals that cannot.
func (r *importRun) checkReplaced(ctx context.Context, replacer *usecase.Replacer) error {
	n := 0
	var listed []string
	differing, err := replacer.Check(ctx, r.checked.pets, r.valid(ctx), func(refusal error) {
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

// valid returns a Source of the animals in the valid rows of the file. The Source returns errFileChanged if the file has
// fewer than n further animals, or if its size or modification time has changed since before the check.
func (r *importRun) valid(ctx context.Context) usecase.Source {
	rows := file.NewReader(r.fromStart(), r.format, r.update)
	return func(n int) (pets []domain.Pet, err error) {
		for len(pets) < n && err == nil {
			var row file.Row
			if row, err = rows.Read(); err == nil && row.Rule == "" {
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
