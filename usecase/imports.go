package usecase

import (
	"context"
	"time"

	"example.com/petstore/domain"
	"example.com/petstore/domain/port"
)

// importBatchSize is the number of animals in a transaction, which takes some milliseconds. Requests of a service on the
// same store may have to wait for the whole transaction.
const importBatchSize = 1000

// An Importer adds the animals of a file to a store. Each transaction also stores how many animals of the file have been
// added, so that an import that was killed continues with the next animal. An Importer is not safe for concurrent use.
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

// Start returns how far the file has been imported. The caller must call Start first, and then Run unless the
// import is complete. If again is true and the import is complete, Start stores and returns the zero state, and Run
// adds all animals once more. If Run then fails, continue with again false: the import may be complete, because a
// transaction may be durable in spite of its error.
func (i *Importer) Start(ctx context.Context, again bool) (state port.ImportState, err error) {
	at := i.now()
	err = i.tx.InTx(ctx, func(ctx context.Context, r port.Repositories) (err error) {
		state, err = r.Imports.Find(ctx, i.file)
		if err == nil && again && state.Complete {
			err = i.advance(ctx, r, state, port.ImportState{}, at)
			state = port.ImportState{}
		}
		return err
	})
	i.stored, i.added = state, state.Added
	return state, err
}

// A Source returns the next n animals of a file. The first call begins with the first animal. A Source returns an
// error if the file has changed since it was checked.
type Source func(n int) ([]domain.Pet, error)

// inBatches reads the next total animals of a file, and calls fn with at most size of them at a time.
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

// Run adds the animals of the file that have not been added before. total is the number of animals in the file.
// After each transaction, Run calls committed with the number of animals that it has added. Run returns the error
// of file, or an ErrConflict if another process has added animals of the same file since Start.
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

// add adds animals in one transaction. The import is complete once total animals have been added.
func (i *Importer) add(ctx context.Context, pets []domain.Pet, total int64) error {
	news := make([]domain.NewPet, len(pets))
	for n, pet := range pets {
		news[n] = pet.New()
	}
	var added []domain.Pet
	at, to := i.now(), port.ImportState{Added: i.added + int64(len(pets))}
	to.Complete = to.Added == total
	err := i.tx.InTx(ctx, func(ctx context.Context, r port.Repositories) error {
		err := i.advance(ctx, r, i.stored, to, at)
		if err == nil {
			added, err = r.Pets.Create(ctx, news)
		}
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

// advance stores the state to. It returns an ErrConflict if the stored state is not from.
func (i *Importer) advance(ctx context.Context, r port.Repositories, from, to port.ImportState, at time.Time) error {
	advanced, err := r.Imports.Advance(ctx, i.file, from, to, at)
	if err == nil && !advanced {
		// The error has no Code, because no operation of the API returns it.
		err = &domain.Error{Kind: domain.ErrConflict, Message: "another process is importing the same file"}
	}
	return err
}

// Added returns how many animals of the file have been added so far, including earlier runs.
func (i *Importer) Added() int64 { return i.added }

// OtherIDs returns how many animals Run has added under another id than the file has.
func (i *Importer) OtherIDs() int64 { return i.otherIDs }
