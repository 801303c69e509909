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

// A Source returns the next n animals of a file, from the first one on, and an error if they are not as they
// were when the file was checked.
type Source func(n int) ([]domain.Pet, error)

// inBatches calls fn with the next total animals of a file, size at a time.
func (s Source) inBatches(total int64, size int, fn func(pets []domain.Pet) error) error {
	for total > 0 {
		pets, err := s(int(min(int64(size), total)))
		if err == nil {
			err = fn(pets)
		}
		if err != nil {
			return err
		}
		total -= int64(len(pets))
	}
	return nil
}

// Run adds the animals that were not added before, of total ones in the file. After each transaction, it calls
// committed with the number of animals that are now durable. It returns the error of the file, or an ErrConflict if
// another process has added animals of the same file since Start.
func (i *Importer) Run(ctx context.Context, total int64, file Source, committed func(n int)) error {
	if total == 0 {
		return i.add(ctx, nil, total)
	}
	if err := file.inBatches(i.added, importBatchSize, func([]domain.Pet) error { return nil }); err != nil {
		return err
	}
	return file.inBatches(total-i.added, importBatchSize, func(pets []domain.Pet) error {
		err := i.add(ctx, pets, total)
		if err == nil {
			committed(len(pets))
		}
		return err
	})
}

// add adds animals in one transaction. The import is complete when total are added.
func (i *Importer) add(ctx context.Context, pets []domain.Pet, total int64) error {
	news := make([]domain.NewPet, len(pets))
	for n, pet := range pets {
		news[n] = pet.New()
	}
	var added []domain.Pet
	at, to := i.now(), port.ImportState{Added: i.added + int64(len(pets))}
	to.Complete = to.Added == total
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
