package repository

import (
	"context"
	"database/sql"
	"strings"

	"gorm.io/gorm"

	"example.com/petstore/domain"
	"example.com/petstore/repository/engine"
	"example.com/petstore/repository/sharedquery"
)

// sharedReads reads records and pages of a table on an engine that is an engine.SharedReader: with one
// query for all requests that wait for rows of the same kind. The span of such a query belongs to no request.
type sharedReads[T any] struct {
	query  *sharedquery.Query[rowsOf, int64, []T]
	report func(error) error // called with the error of each request
}

// rowsOf is the kind of the rows that a request with an id reads: the record with the id, or a page after it.
type rowsOf struct {
	page     bool
	status   string // "" for any
	category sql.NullInt64
	limit    int
}

// rows returns the rows of a table.
func (of rowsOf) rows(table, columns string) engine.Rows {
	rows := engine.Rows{Table: table, Columns: columns, After: of.page, Category: of.category, Limit: of.limit}
	switch {
	case of.status != "":
		rows.Statuses = []string{of.status}
	case of.category.Valid: // of which an index has the rows of each status in the order of ids
		for _, status := range append(domain.PetStatuses(), "") {
			rows.Statuses = append(rows.Statuses, string(status))
		}
	}
	return rows
}

// plain returns the query of one request for rows of any status and category.
func (of rowsOf) plain(query *gorm.DB, id int64) *gorm.DB {
	if of.page {
		return query.Where("id > ?", id).Order("id").Limit(of.limit)
	}
	return query.Where("id = ?", id)
}

// newSharedReads returns a sharedReads for the table of a model. The caller must close its query.
func newSharedReads[T any](db *gorm.DB, r *readers, many engine.SharedReader, newModel func() row[T]) *sharedReads[T] {
	unreported := *r
	unreported.report = func(err error) error { return err }
	db = db.Session(&gorm.Session{NewDB: true, Context: context.Background()})
	db.Statement.ConnPool = &unreported
	statement := gorm.Statement{DB: db}
	_ = statement.Parse(newModel()) // fails only for what is no model
	table, columns := statement.Table, strings.Join(statement.Schema.DBNames, ", ")
	return &sharedReads[T]{report: r.report, query: sharedquery.New(func(ctx context.Context, of rowsOf, ids []int64) ([][]T, error) {
		model, n, found := newModel(), 1, make([][]T, len(ids))
		for i := range found {
			found[i] = make([]T, 0, of.limit)
		}
		add := func() error {
			record, err := model.record()
			found[n-1] = append(found[n-1], record)
			return err
		}
		if len(ids) == 1 && of.status == "" && !of.category.Valid { // for which PostgreSQL finds the best plan itself
			return found, scan(of.plain(db.WithContext(ctx).Model(model), ids[0]), model.fields(), add)
		}
		query, args := many.SharedRead(of.rows(table, columns), ids)
		return found, scan(db.WithContext(ctx).Raw(query, args...), append([]any{&n}, model.fields()...), add)
	})}
}

// get returns the record with an id, or the error notFound.
func (s *sharedReads[T]) get(ctx context.Context, id int64, notFound func(int64) error) (record T, err error) {
	found, err := s.read(ctx, rowsOf{limit: 1}, id)
	if err != nil {
		return record, err
	}
	if len(found) == 0 {
		return record, notFound(id)
	}
	return found[0], nil
}

// list returns a page of the records with a status, of a category.
func (s *sharedReads[T]) list(ctx context.Context, status string, category *int64, page domain.PageRequest) (domain.Page[T], error) {
	of := rowsOf{page: true, status: status, limit: page.Limit + 1}
	if category != nil {
		of.category = sql.NullInt64{Int64: *category, Valid: true}
	}
	found, err := s.read(ctx, of, page.After)
	return cutPage(found, page.Limit), err
}

func (s *sharedReads[T]) read(ctx context.Context, of rowsOf, id int64) ([]T, error) {
	found, err := s.query.Do(ctx, of, id)
	if err != nil && (err == ctx.Err() || err == sharedquery.ErrClosed) { //nolint:errorlint // not those that the query wraps
		err = domain.Unavailable(err)
	}
	if err != nil {
		return nil, s.report(err)
	}
	return found, nil
}
