package usecase

import (
	"context"
	"time"

	"example.com/petstore/domain"
	"example.com/petstore/domain/port"
)

// importBatchSize is the number of animals in a transaction. A request to a service on the same store waits
// for a whole transaction, which takes some milliseconds.
const importBatchSize = 1000

// An Importer adds the animals of a file to a store. Each transaction also records how many
// of them were added, so that an import that was killed continues with the next animal. It
// is not safe for concurrent use.
type Importer struct {
	tx       port.Transactor
	file     port.FileDigest
	now      func() time.Time
	stored   port.ImportState
	added    int64
	otherIDs int64
}

// NewImporter returns an Importer of a file. now is the clock.
func NewImporter(tx port.Transactor, file port.FileDigest, now func() time.Time) *Importer {
	return &Importer{tx: tx, file: file, now: now}
}

// Start returns how far the file was imported before. The caller must call it first, and then Run, unless
// the import is complete. With again, the state of a complete import is returned as that of a file of which
// nothing was imported.
func (i *Importer) Start(ctx context.Context, again bool) (state port.ImportState, err error) {
	err = i.tx.InTx(ctx, func(ctx context.Context, r port.Repositories) (err error) {
		state, err = r.Imports.Find(ctx, i.file)
		return err
	})
	i.stored = state
	if again && state.Complete {
		state = port.ImportState{}
	}
	i.added = state.Added
	return state, err
}

// Run adds the animals that were not added before, of total valid ones in the file. next returns the next n of the
// file, and an error if they are not as they were when they were checked. After each transaction, Run calls committed
// with the number of animals that are now durable. It returns the error of next, or an ErrConflict if another process
// has added animals of the same file since Start.
func (i *Importer) Run(ctx context.Context, total int64, next func(n int) ([]domain.Pet, error), committed func(n int)) error {
	for skip := i.added; skip > 0; {
		pets, err := next(int(min(importBatchSize, skip)))
		if err != nil {
			return err
		}
		skip -= int64(len(pets))
	}
	for {
		pets, err := next(int(min(importBatchSize, total-i.added)))
		if err == nil {
			err = i.add(ctx, pets, i.added+int64(len(pets)) == total)
		}
		if err != nil {
			return err
		}
		committed(len(pets))
		if i.added == total {
			return nil
		}
	}
}

// add adds animals in one transaction. last marks the import as complete.
func (i *Importer) add(ctx context.Context, pets []domain.Pet, last bool) error {
	news := make([]domain.NewPet, len(pets))
	for n, pet := range pets {
		news[n] = pet.New()
	}
	var added []domain.Pet
	at, to := i.now(), port.ImportState{Added: i.added + int64(len(pets)), Complete: last}
	err := i.tx.InTx(ctx, func(ctx context.Context, r port.Repositories) error {
		advanced, err := r.Imports.Advance(ctx, i.file, i.stored, to, at)
		if err != nil {
			return err
		}
		if !advanced {
			// It has no Code, because no operation of the API returns it.
			return &domain.Error{Kind: domain.ErrConflict, Message: "another process is importing the same file"}
		}
		added, err = r.Pets.Create(ctx, news)
		return err
	})
	if err != nil {
		return err
	}
	i.stored, i.added = to, to.Added
	for n, pet := range pets {
		if pet.ID != 0 && pet.ID != added[n].ID {
			i.otherIDs++
		}
	}
	return nil
}

// Added returns the number of animals of the file that were added so far, by earlier runs, too.
func (i *Importer) Added() int64 { return i.added }

// OtherIDs returns how many animals Run has added with another id than in the file.
func (i *Importer) OtherIDs() int64 { return i.otherIDs }
