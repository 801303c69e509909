package cli

import (
	"cmp"
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"hash"
	"io"
	"io/fs"
	"math"
	"strings"
	"time"

	"example.com/petstore/delivery/file"
	"example.com/petstore/domain"
	"example.com/petstore/domain/port"
	"example.com/petstore/usecase"
)

const (
	// importBatchSize is the number of animals in a transaction, as in seed.
	importBatchSize = seedBatchSize
	// maxListed is the number of invalid rows that an error lists.
	maxListed = 20
)

// A checkedFile is what check found.
type checkedFile struct {
	info     fs.FileInfo // from before it was read
	digest   port.FileDigest
	pets     int64
	rejected int
}

// A reading reads the rows of the file once.
type reading struct {
	*file.Reader
	in   io.Reader
	hash hash.Hash // of what was read
}

// read returns a reading that also writes what it reads to progress.
func (r *importRun) read(progress io.Writer) reading {
	hash := sha256.New()
	in := io.TeeReader(io.NewSectionReader(r.input, 0, math.MaxInt64), io.MultiWriter(hash, progress))
	return reading{file.NewReader(in, r.format), in, hash}
}

// digest reads the rest of the file, if any, and returns the digest of all of it.
func (r reading) digest() (port.FileDigest, error) {
	_, err := io.Copy(io.Discard, r.in)
	return port.FileDigest(r.hash.Sum(nil)), err
}

// check reads the file and checks each row. Rows that violate a rule are an error unless there
// are rejects to write them to. The digest is also returned with an error, unless ctx has ended.
func (r *importRun) check(ctx context.Context, rejects *rejectFile) (checked checkedFile, err error) {
	if checked.info, err = r.input.Stat(); err != nil {
		return checked, err
	}
	progress := newProgress(r.in.Stderr, "bytes checked", int(checked.info.Size()))
	defer progress.stop()
	rows := r.read(progress)
	if err = checked.checkRows(ctx, rows, rejects); err != nil {
		err = fmt.Errorf("%s: %w", nameOf(r.path), err)
	} else if !rows.EndsWithLine() {
		r.in.report("warning: the last line of %s has no line end: the file may be incomplete", nameOf(r.path))
	}
	if ctx.Err() != nil {
		return checked, err
	}
	var restErr error
	checked.digest, restErr = rows.digest()
	return checked, cmp.Or(err, restErr)
}

// checkRows counts the rows and writes those that violate a rule to rejects. Without rejects it
// returns an error that lists them.
func (c *checkedFile) checkRows(ctx context.Context, rows reading, rejects *rejectFile) error {
	var listed []string
	for {
		row, err := rows.Read()
		if errors.Is(err, io.EOF) {
			return invalidRows(listed, c.rejected)
		}
		if err := cmp.Or(err, ctx.Err()); err != nil {
			return err
		}
		if row.Rule == "" {
			c.pets++
			continue
		}
		if c.rejected++; c.rejected == 1 && isRejected(row.Text) {
			return fmt.Errorf("line %d: this row was written by --rejects: correct the member row of each line, and import these rows alone", row.Line)
		}
		if rejects == nil && len(listed) < maxListed {
			listed = append(listed, fmt.Sprintf("line %d: %s", row.Line, row.Rule))
		}
		if err := rejects.write(row); err != nil {
			return err
		}
	}
}

// invalidRows returns the error for n rows that violate a rule, of which the first are listed.
func invalidRows(listed []string, n int) error {
	const remedy = "or add --rejects FILE to import the others"
	switch len(listed) {
	case 0:
		return nil
	case 1:
		return fmt.Errorf("%s; correct the row, %s", listed[0], remedy)
	}
	first := ""
	if n > len(listed) {
		first = fmt.Sprintf(", the first %d are", len(listed))
	}
	return fmt.Errorf("%d rows violate a rule%s:\n%s\ncorrect them, %s", n, first, strings.Join(listed, "\n"), remedy)
}

// add adds the animals after those of an earlier run and returns how many have another id
// than in the file. It returns errFileChanged, and adds no more, when the file is not as it was
// when it was checked: by size and time before each batch, by content before the last one, which
// marks the import as complete.
func (r *importRun) add(ctx context.Context, importer *usecase.Importer, earlier port.ImportState, checked checkedFile) (otherIDs int, err error) {
	progress := newProgress(r.in.Stderr, "animals", int(checked.pets-earlier.Added))
	defer progress.stop()
	if checked.pets == 0 {
		return addBatch(ctx, importer, nil, true)
	}
	rows := r.read(io.Discard)
	var batch []domain.Pet
	for n := int64(1); n <= checked.pets; n++ {
		pet, err := nextPet(ctx, rows)
		if err != nil {
			return otherIDs, cmp.Or(r.compare(checked.info), err)
		}
		if n > earlier.Added {
			batch = append(batch, pet)
		}
		if len(batch) < importBatchSize && n < checked.pets {
			continue
		}
		if n == checked.pets {
			if digest, err := rows.digest(); err != nil || digest != checked.digest {
				return otherIDs, cmp.Or(err, errFileChanged)
			}
		}
		if err := r.compare(checked.info); err != nil {
			return otherIDs, err
		}
		batchStart := time.Now()
		others, err := addBatch(ctx, importer, batch, n == checked.pets)
		if err != nil {
			return otherIDs, err
		}
		otherIDs += others
		progress.add(len(batch))
		batch = batch[:0]
		throttle(ctx, time.Since(batchStart))
	}
	return otherIDs, nil
}

// nextPet returns the animal of the next valid row, or errFileChanged if there is none.
func nextPet(ctx context.Context, rows reading) (domain.Pet, error) {
	for {
		row, err := rows.Read()
		if errors.Is(err, io.EOF) {
			err = errFileChanged
		}
		if err := cmp.Or(ctx.Err(), err); err != nil || row.Rule == "" {
			return row.Pet, err
		}
	}
}

// compare returns errFileChanged unless the file has the size and the time of modification that
// it had before.
func (r *importRun) compare(before fs.FileInfo) error {
	info, err := r.input.Stat()
	if err == nil && (info.Size() != before.Size() || !info.ModTime().Equal(before.ModTime())) {
		err = errFileChanged
	}
	return err
}

// addBatch adds animals and returns how many have another id than in the file.
func addBatch(ctx context.Context, importer *usecase.Importer, batch []domain.Pet, last bool) (otherIDs int, err error) {
	pets := make([]domain.NewPet, len(batch))
	for i, pet := range batch {
		pets[i] = pet.New()
	}
	added, err := importer.Add(ctx, pets, last)
	for i, pet := range added {
		if batch[i].ID != 0 && batch[i].ID != pet.ID {
			otherIDs++
		}
	}
	return otherIDs, err
}

var errFileChanged = errors.New("the file changed while it was imported")
