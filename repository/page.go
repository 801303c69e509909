package repository

import (
	"context"

	"gorm.io/gorm"

	"example.com/petstore/domain"
)

// withStatus limits a query to the records with a status, or not if it is empty.
func withStatus[S ~string](query *gorm.DB, status S) *gorm.DB {
	if status == "" {
		return query
	}
	return query.Where("status = ?", string(status))
}

// list reads a page of a table, ascending by id. A page starts after an id and not at an
// offset, so every page takes the same time.
func list[T any](ctx context.Context, r *readers, query *gorm.DB, page domain.PageRequest, model row[T]) (domain.Page[T], error) {
	items := make([]T, 0, page.Limit+1)
	query = query.Where("id > ?", page.After).Limit(page.Limit + 1)
	err := each(ctx, r, query, model, func(item T) error {
		items = append(items, item)
		return nil
	})
	if err != nil {
		return domain.Page[T]{}, err
	}
	return domain.CutPage(items, page.Limit), nil
}

// each calls fn with each record of a query, ascending by id, until fn returns an error, which it
// returns. model is used for each row. each scans the rows itself, because GORM's Find takes twice
// the time for a page, and would read a whole table into memory.
func each[T any](ctx context.Context, r *readers, query *gorm.DB, model row[T], fn func(T) error) error {
	queryCtx, err := r.acquire(ctx)
	if err != nil {
		return err
	}
	defer queryCtx.release()
	rows, err := query.WithContext(queryCtx).Order("id").Rows()
	if err != nil {
		return r.failed(query, err)
	}
	defer rows.Close()
	for fields := model.fields(); rows.Next(); {
		if err := rows.Scan(fields...); err != nil {
			return r.failed(query, err)
		}
		if err := fn(model.record()); err != nil {
			queryCtx.cancel() // on PostgreSQL Close would read the rest of the result
			return err
		}
	}
	return r.failed(query, rows.Err())
}

// failed returns the error of a query, or nil, after it has reported it.
func (r *readers) failed(query *gorm.DB, err error) error {
	return r.reported(translate(query, err))
}

// until returns a function for each that ends with ctx, too.
func until[T any](ctx context.Context, r *readers, fn func(T) error) func(T) error {
	return func(item T) error {
		if err := ctx.Err(); err != nil {
			return r.reported(domain.Unavailable(err))
		}
		return fn(item)
	}
}
