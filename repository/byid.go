package repository

import (
	"context"
	"time"

	"gorm.io/gorm"

	"example.com/petstore/domain"
	"example.com/petstore/repository/gather"
)

// byIDTimeout is how long a query of byID may take.
const byIDTimeout = 5 * time.Second

// byID reads records by id on an engine that batches statements: one query for all requests that
// wait. Without it, a record by id took PostgreSQL and the service longer than with plain GORM.
type byID[T any] struct {
	query   *gather.Query[int64, *T]
	readers *readers
}

func newByID[M, T any, P interface {
	*M
	row[T]
}](db *gorm.DB, r *readers) *byID[T] {
	return &byID[T]{readers: r, query: gather.New(func(ctx context.Context, ids []int64) ([]*T, error) {
		ctx, cancel := context.WithTimeout(ctx, byIDTimeout)
		defer cancel()
		var models []M
		if err := db.WithContext(ctx).Where("id IN ?", ids).Find(&models).Error; err != nil {
			return nil, err
		}
		found := make(map[int64]*T, len(models))
		for i := range models {
			record := P(&models[i]).record()
			found[P(&models[i]).id()] = &record
		}
		records := make([]*T, len(ids))
		for i, id := range ids {
			records[i] = found[id]
		}
		return records, nil
	})}
}

// get returns the record, or the error notFound.
func (b *byID[T]) get(ctx context.Context, id int64, notFound func(int64) error) (record T, err error) {
	found, err := b.query.Do(ctx, id)
	switch {
	case err != nil && ctx.Err() != nil: // the query may go on for others, and report its own error
		return record, b.readers.report(domain.Unavailable(ctx.Err()))
	case err != nil:
		return record, domain.Unavailable(err)
	case found == nil:
		return record, notFound(id)
	}
	return *found, nil
}
