package usecase

import (
	"context"

	"example.com/petstore/domain"
	"example.com/petstore/internal/port"
)

// importBatchSize is the number of animals in a transaction, which takes some milliseconds. Requests of a service on the
// same store may have to wait for the whole transaction.
const importBatchSize = 1000

// An Importer adds the animals of a file to a store. Each transaction also stores how many animals of the file have been
// added, so that an import that was killed continues with the next animal. An Importer is not safe for concurrent use.
type Importer struct {
	tx       port.Transactor
	file     port.FileDigest
	total    int64
	added    int64
	otherIDs int64
}

// NewImporter returns an Importer of a file. total is the number of animals in it.
func NewImporter(tx port.Transactor, file port.FileDigest, total int64) *Importer {
	return &Importer{tx: tx, file: file, total: total}
}

// Start returns how many animals of the file were added before. The caller must call Start first, and then Run. If all
// were added and again is true, Start stores and returns 0, and Run adds all once more. If Run then fails, continue with
// again false: the import may be complete, because a transaction may be durable in spite of its error.
func (i *Importer) Start(ctx context.Context, again bool) (int64, error) {
	err := i.tx.InTx(ctx, func(ctx context.Context, r port.Repositories) (err error) {
		i.added, err = r.Imports.Added(ctx, i.file)
		if err != nil || !again || i.added < i.total {
			return err
		}
		i.added = 0
		return r.Imports.SetAdded(ctx, i.file, 0)
	})
	return i.added, err
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

// Run adds the animals of the file that have not been added before. After each transaction, Run calls committed with the
// number of animals that it has added. Run returns the error of file, or an ErrConflict if another process has added
// animals of the same file since Start.
func (i *Importer) Run(ctx context.Context, file Source, committed func(n int)) error {
	if err := file.inBatches(i.added, importBatchSize, func([]domain.Pet) error { return nil }); err != nil {
		return err
	}
	return file.inBatches(i.total-i.added, importBatchSize, func(pets []domain.Pet) error {
		err := i.add(ctx, pets)
		if err == nil {
			committed(len(pets))
		}
		return err
	})
}

// add adds animals in one transaction.
func (i *Importer) add(ctx context.Context, pets []domain.Pet) error {
	news := make([]domain.NewPet, len(pets))
	for n, pet := range pets {
		news[n] = pet.New()
	}
	var created []domain.Pet
	added := i.added + int64(len(pets))
	err := i.tx.InTx(ctx, func(ctx context.Context, r port.Repositories) error {
		before, err := r.Imports.Added(ctx, i.file)
		if err == nil && before != i.added {
			// The error has no Code, because no operation of the API returns it.
			err = &domain.Error{Kind: domain.ErrConflict, Message: "another process is importing the same file"}
		}
		if err == nil {
			err = r.Imports.SetAdded(ctx, i.file, added)
		}
		if err == nil {
			created, err = r.Pets.Create(ctx, news)
		}
		return err
	})
	if err != nil {
		return err
	}
	i.added = added
	for n, pet := range pets {
		if pet.ID != 0 && pet.ID != created[n].ID {
			i.otherIDs++
		}
	}
	return nil
}

// Added returns how many animals of the file have been added so far, including earlier runs.
func (i *Importer) Added() int64 { return i.added }

// OtherIDs returns how many animals Run has added under another id than the file has.
func (i *Importer) OtherIDs() int64 { return i.otherIDs }
