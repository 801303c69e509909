package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
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
	pets     int64
	rejected int64
}

// check reads the file and checks each row. The first row that violates a rule is an error
// unless there are rejects to write it to. The digest is also returned with an error, unless
// ctx has ended.
func (r *importRun) check(ctx context.Context, rejects *rejectFile) (checked checkedFile, err error) {
	info, err := r.input.Stat()
	if err != nil {
		return checked, err
	}
	progress := newProgress(ctx, r.stderr, "bytes checked", int(info.Size()))
	p := newPass(r.input, r.format, progress.add)
	err = p.each(ctx, func(row file.Row) error {
		if row.Rule == "" {
			checked.pets++
			return nil
		}
		if checked.rejected++; rejects != nil {
			return rejects.write(row)
		}
		return fmt.Errorf("line %d: %s; correct the row, or add --rejects FILE to import the others", row.Line, row.Rule)
	})
	if err != nil {
		progress.stop()
		p.onRead = func(int) {}
		err = fmt.Errorf("%s: %w", nameOf(r.path, "standard input"), err)
	} else if !p.rows.EndsWithLine() {
		fmt.Fprintf(contextWriter{ctx, r.stderr}, "petstore: warning: the last line of %s has no line end: the file may be incomplete\n", nameOf(r.path, "standard input"))
	}
	if ctx.Err() != nil {
		return checked, err
	}
	digest, digestErr := p.digest()
	checked.digest = digest
	return checked, cmp.Or(err, digestErr)
}

// add adds the animals after those of an earlier run and returns how many have another id
// than in the file. The last batch marks the import as complete, once the file has been read
// to its end and is known to be the one that was checked.
func (r *importRun) add(ctx context.Context, importer *usecase.Importer, earlier domain.ImportState, checked checkedFile) (otherIDs int, err error) {
	progress := newProgress(ctx, r.stderr, "animals", int(checked.pets-earlier.Added))
	defer func() {
		if err != nil {
			progress.stop()
		}
	}()
	var batch []domain.NewPet
	var ids []int64 // of batch, in the file
	store := func(last bool) error {
		batchStart := time.Now()
		added, err := importer.Add(ctx, batch, last)
		if err != nil {
			return err
		}
		for i, pet := range added {
			if ids[i] != 0 && ids[i] != pet.ID {
				otherIDs++
			}
		}
		if len(batch) > 0 {
			progress.add(len(batch))
		}
		batch, ids = batch[:0], ids[:0]
		throttle(ctx, time.Since(batchStart))
		return nil
	}
	p, skip := newPass(r.input, r.format, func(int) {}), earlier.Added
	err = p.each(ctx, func(row file.Row) error {
		if row.Rule != "" {
			return nil
		}
		if skip > 0 {
			skip--
			return nil
		}
		if len(batch) == importBatchSize {
			if err := store(false); err != nil {
				return err
			}
		}
		batch = append(batch, domain.NewPet{Name: row.Pet.Name, CategoryID: row.Pet.CategoryID, Status: row.Pet.Status})
		ids = append(ids, row.Pet.ID)
		return nil
	})
	if err != nil {
		return otherIDs, err
	}
	digest, err := p.digest()
	if err != nil {
		return otherIDs, err
	}
	if digest != checked.digest {
		return otherIDs, errFileChanged
	}
	return otherIDs, store(true)
}

var errFileChanged = errors.New("the file changed while it was read")
