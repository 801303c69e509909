package repository

import (
	"context"
	"database/sql/driver"
	"strconv"
	"strings"
	"time"

	"gorm.io/gorm"

	"example.com/petstore/domain"
	"example.com/petstore/repository/sharedquery"
)

// byIDTimeout is how long a query of byID may take. Close waits for it.
const byIDTimeout = 5 * time.Second

// byID reads records by id on an engine that batches statements: with one query for all requests
// that wait. Its span belongs to no request.
type byID[T any] struct {
	query  *sharedquery.Query[int64, *T]
	report func(error) error // called with the error of each request
}

// newByID returns a byID for the table of a model. The caller must close its query.
func newByID[M, T any](db *gorm.DB, r *readers, record func(*M) T, id func(T) int64) *byID[T] {
	unreported := *r
	unreported.report = func(err error) error { return err }
	db = db.Session(&gorm.Session{NewDB: true, Context: context.Background()})
	db.Statement.ConnPool = &unreported
	return &byID[T]{report: r.report, query: sharedquery.New(func(ctx context.Context, ids []int64) ([]*T, error) {
		ctx, cancel := context.WithTimeout(ctx, byIDTimeout)
		defer cancel()
		var models []M
		if err := db.WithContext(ctx).Where("id = ANY(CAST(? AS bigint[]))", idArray(ids)).Find(&models).Error; err != nil {
			return nil, err
		}
		found := make(map[int64]*T, len(models))
		for i := range models {
			read := record(&models[i])
			found[id(read)] = &read
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
	case err != nil && (err == ctx.Err() || err == sharedquery.ErrClosed): //nolint:errorlint // not those that the query wraps
		return record, b.report(domain.Unavailable(err))
	case err != nil:
		return record, b.report(err)
	case found == nil:
		return record, notFound(id)
	}
	return *found, nil
}

// An idArray is an array of PostgreSQL. GORM expands a slice that is no driver.Valuer.
type idArray []int64

// Value implements driver.Valuer.
func (a idArray) Value() (driver.Value, error) {
	ids := make([]string, len(a))
	for i, id := range a {
		ids[i] = strconv.FormatInt(id, 10)
	}
	return "{" + strings.Join(ids, ",") + "}", nil
}
