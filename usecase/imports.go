package usecase

import (
	"context"
	"time"

	"example.com/petstore/domain"
	"example.com/petstore/domain/port"
)

// An Importer adds the animals of a file to a store. Each transaction also records how many
// of them were added, so that an import that was killed continues with the next animal. It
// is not safe for concurrent use.
type Importer struct {
	tx     port.Transactor
	file   port.FileDigest
	now    func() time.Time
	stored port.ImportState
	added  int64
}

// NewImporter returns an Importer of a file. now is the clock.
func NewImporter(tx port.Transactor, file port.FileDigest, now func() time.Time) *Importer {
	return &Importer{tx: tx, file: file, now: now}
}

// Start returns how far the file was imported before. The caller must call it first, and
// then Add with the animals after the first State.Added ones, unless the import is
// complete. With again, the state of a complete import is returned as that of a file of which
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

// Add adds the next animals of the file in one transaction and returns them with their ids;
// when it returns, they are durable. last marks the import as complete. Add returns an
// ErrInvalid (validation_failed), or an ErrConflict if another process has added animals of
// the same file since Start; then it added nothing, like after any other error.
func (i *Importer) Add(ctx context.Context, pets []domain.NewPet, last bool) (added []domain.Pet, err error) {
	for _, pet := range pets {
		if err := pet.Validate(); err != nil {
			return nil, err
		}
	}
	at, to := i.now(), port.ImportState{Added: i.added + int64(len(pets)), Complete: last}
	err = i.tx.InTx(ctx, func(ctx context.Context, r port.Repositories) error {
		advanced, err := r.Imports.Advance(ctx, i.file, i.stored, to, at)
		if err != nil {
			return err
		}
		if !advanced {
			// It has no Code, because no operation of the API returns it.
			return &domain.Error{Kind: domain.ErrConflict, Message: "another process is importing the same file"}
		}
		added, err = r.Pets.Create(ctx, pets)
		return err
	})
	if err != nil {
		return nil, err
	}
	i.stored, i.added = to, to.Added
	return added, nil
}

// Added returns the number of animals of the file that were added so far.
func (i *Importer) Added() int64 { return i.added }
