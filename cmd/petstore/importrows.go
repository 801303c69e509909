package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"hash/maphash"
	"io"
	"io/fs"
	"time"

	"example.com/petstore/delivery/file"
	"example.com/petstore/domain"
	"example.com/petstore/usecase"
)

// importBatchSize is the number of animals in a transaction, as in seed.
const importBatchSize = seedBatchSize

// A checkedFile is what check found.
type checkedFile struct {
	digest   domain.FileDigest
	size     int64 // in bytes
	pets     int64
	rejected int64
	seed     maphash.Seed
	sums     []uint64 // the sums of a petsHash after each batch, so that add notices a change before it stores one
}

// endsBatch reports whether a batch ends with the nth animal.
func (c checkedFile) endsBatch(n int64) bool { return n%importBatchSize == 0 || n == c.pets }

// check reads the file and checks each row. The first row that violates a rule is an error
// unless there are rejects to write it to. The digest is also returned with an error, unless
// ctx has ended.
func (r *importRun) check(ctx context.Context, rejects *rejectFile) (checked checkedFile, err error) {
	info, err := r.input.Stat()
	if err != nil {
		return checked, err
	}
	progress := newProgress(ctx, r.stderr, "bytes checked", int(info.Size()))
	p, pets := newPass(r.input, r.format, progress.add), petsHash{seed: maphash.MakeSeed()}
	err = p.each(ctx, func(row file.Row) error {
		if row.Rule == "" {
			pets.add(row.Pet)
			if checked.pets++; checked.pets%importBatchSize == 0 {
				checked.sums = append(checked.sums, pets.sum)
			}
			return nil
		}
		if checked.rejected++; checked.rejected == 1 && isRejected(row.Text) {
			return fmt.Errorf("line %d: this row was written by --rejects: correct the member row of each line, and import these rows alone", row.Line)
		}
		if rejects != nil {
			return rejects.write(row)
		}
		return fmt.Errorf("line %d: %s; correct the row, or add --rejects FILE to import the others", row.Line, row.Rule)
	})
	if err != nil {
		progress.stop()
		p.onRead = func(int) {}
		err = fmt.Errorf("%s: %w", nameOf(r.path), err)
	} else if !p.rows.EndsWithLine() {
		fmt.Fprintf(contextWriter{ctx, r.stderr}, "petstore: warning: the last line of %s has no line end: the file may be incomplete\n", nameOf(r.path))
	}
	if ctx.Err() != nil {
		return checked, err
	}
	digest, digestErr := p.digest()
	checked.digest, checked.size, checked.seed = digest, p.size, pets.seed
	checked.sums = append(checked.sums, pets.sum)
	return checked, cmp.Or(err, digestErr)
}

// add adds the animals after those of an earlier run and returns how many have another id
// than in the file. It stores only animals that were checked: it ignores what was appended to
// the file meanwhile, and returns errFileChanged after any other change. The last batch marks
// the import as complete.
func (r *importRun) add(ctx context.Context, importer *usecase.Importer, earlier domain.ImportState, checked checkedFile) (otherIDs int, err error) {
	progress := newProgress(ctx, r.stderr, "animals", int(checked.pets-earlier.Added))
	defer func() {
		if err != nil {
			progress.stop()
		}
	}()
	if checked.pets == 0 {
		_, err := importer.Add(ctx, nil, true)
		return 0, err
	}
	rows := file.NewReader(io.NewSectionReader(r.input, 0, checked.size), r.format)
	pets, batch := petsHash{seed: checked.seed}, []domain.Pet(nil)
	for n := int64(0); n < checked.pets; {
		row, err := readAgain(ctx, rows)
		if err != nil {
			return otherIDs, err
		}
		if row.Rule != "" {
			continue
		}
		pets.add(row.Pet)
		if n++; n > earlier.Added {
			batch = append(batch, row.Pet)
		}
		if !checked.endsBatch(n) {
			continue
		}
		if pets.sum != checked.sums[(n-1)/importBatchSize] {
			return otherIDs, errFileChanged
		}
		if len(batch) == 0 {
			continue
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

// readAgain reads the next row of a file that was read to its end before.
func readAgain(ctx context.Context, rows *file.Reader) (file.Row, error) {
	row, err := rows.Read()
	if _, failed := errors.AsType[*fs.PathError](err); err != nil && !failed {
		err = errFileChanged
	}
	return row, cmp.Or(ctx.Err(), err)
}

// addBatch adds animals and returns how many have another id than in the file.
func addBatch(ctx context.Context, importer *usecase.Importer, batch []domain.Pet, last bool) (otherIDs int, err error) {
	pets := make([]domain.NewPet, len(batch))
	for i, pet := range batch {
		pets[i] = domain.NewPet{Name: pet.Name, CategoryID: pet.CategoryID, Status: pet.Status}
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
