package repository

import (
	"context"
	"math"
	"strings"
	"sync"

	"gorm.io/gorm"
	"gorm.io/gorm/schema"

	"example.com/petstore/domain"
	"example.com/petstore/repository/engine"
	"example.com/petstore/repository/sharedquery"
)

// A table is a table with records of type T. newModel returns a model for its rows.
type table[T any] struct {
	newModel func() row[T]
	rows     engine.Rows // the name and all columns of the table
}

var (
	petTable   = newTable(func() row[domain.Pet] { return &petModel{} })
	orderTable = newTable(func() row[domain.Order] { return &orderModel{} })

	changeTable = newTable(func() row[domain.Change] { return &changeModel{} })
)

func newTable[T any](newModel func() row[T]) table[T] {
	model, _ := schema.Parse(newModel(), &sync.Map{}, schema.NamingStrategy{}) // fails only for a type that is no model
	return table[T]{newModel, engine.Rows{Table: model.Table, Columns: strings.Join(model.DBNames, ", ")}}
}

// query reads rows for several requests. An element of requests has the ids of one request, and the element of the result
// with the same index has the records of this request.
func (t table[T]) query(db *gorm.DB, database engine.Database, rows engine.Rows, requests [][]int64) ([][]T, error) {
	model, n, found := t.newModel(), 0, make([][]T, len(requests))
	for i, ids := range requests {
		found[i] = make([]T, 0, max(rows.Limit, len(ids)))
	}
	fields := model.fields()
	query, args := "", []any(nil)
	if shared, ok := database.(engine.SharedReader); ok && len(requests) > 1 {
		query, args = shared.SharedSelect(rows, requests)
		fields = append([]any{&n}, fields...)
	} else {
		query, args = database.Select(rows, requests[0])
	}
	return found, scan(db.Raw(query, args...), fields, func() error {
		record, err := model.record()
		found[n] = append(found[n], record)
		return err
	})
}

// sharedReads returns reads of the table that many requests share. The caller must close them.
func (t table[T]) sharedReads(s session, r *readers) *sharedReads[engine.Rows, []int64, []T] {
	return newSharedReads(s, r, func(db *gorm.DB, rows engine.Rows, requests [][]int64) ([][]T, error) {
		return t.query(db, s.database, rows, requests)
	})
}

// A reader reads the records of a table. If shared is not nil, requests that wait for the same rows share one query.
type reader[T any] struct {
	session
	table[T]
	shared *sharedReads[engine.Rows, []int64, []T] // nil in a transaction, and if the database is no engine.SharedReader
}

// sharedReads run one query for many requests, see package sharedquery. The span of a shared query belongs to no request.
type sharedReads[G comparable, K, V any] struct {
	*sharedquery.Query[G, K, V]
	report func(error) error // called with the error of each request
}

// newSharedReads returns sharedReads that run query on the connections of r. The caller must close them. An error of the
// query is not reported once, as r would do, but for each request that gets it.
func newSharedReads[G comparable, K, V any](
	s session, r *readers, query func(db *gorm.DB, group G, keys []K) ([]V, error),
) *sharedReads[G, K, V] {
	unreported := *r
	unreported.report = func(err error) error { return err }
	db := s.db.Session(&gorm.Session{NewDB: true, Context: context.Background()})
	db.Statement.ConnPool = &unreported
	return &sharedReads[G, K, V]{sharedquery.New(func(ctx context.Context, group G, keys []K) ([]V, error) {
		return query(db.WithContext(ctx), group, keys)
	}), r.report}
}

func (s *sharedReads[G, K, V]) read(ctx context.Context, group G, key K) (V, error) {
	found, err := s.Do(ctx, group, key)
	if err != nil && (err == ctx.Err() || err == sharedquery.ErrClosed) { //nolint:errorlint // an error of the query is already translated
		err = domain.Unavailable(err)
	}
	return found, s.report(err)
}

// read returns the records of rows for a request with ids.
func (r reader[T]) read(ctx context.Context, rows engine.Rows, ids ...int64) ([]T, error) {
	if r.shared != nil {
		return r.shared.read(ctx, rows, ids)
	}
	found, err := r.query(r.db.WithContext(ctx), r.database, rows, [][]int64{ids})
	return found[0], err
}

// get returns the record with an id, or the error notFound.
func (r reader[T]) get(ctx context.Context, id int64, notFound func(int64) error) (record T, err error) {
	found, err := r.read(ctx, r.rows, id)
	if err != nil {
		return record, err
	}
	if len(found) == 0 {
		return record, notFound(id)
	}
	return found[0], nil
}

// page returns a page of rows. It starts after an id and not at an offset, so every page takes the same time.
func (r reader[T]) page(ctx context.Context, rows engine.Rows, page domain.PageRequest) (domain.Page[T], error) {
	rows.Page, rows.Newest, rows.Limit = true, page.Newest, page.Limit+1
	id := page.After
	if page.Newest {
		if id--; page.After <= 0 {
			id = math.MaxInt64
		}
	}
	found, err := r.read(ctx, rows, id)
	switch {
	case err != nil:
		return domain.Page[T]{}, err
	case len(found) > page.Limit:
		return domain.Page[T]{Items: found[:page.Limit], More: true}, nil
	}
	return domain.Page[T]{Items: found}, nil
}

// withStatuses limits rows to the rows that have one of statuses. Without statuses it returns rows unchanged. expression is
// the SQL expression for the status in the index that the query of a page uses.
func withStatuses[S ~string](rows engine.Rows, expression string, statuses []S) engine.Rows {
	if len(statuses) == 0 {
		return rows
	}
	texts := make([]string, len(statuses))
	for i, status := range statuses {
		texts[i] = string(status)
	}
	rows.Status, rows.Statuses = expression, strings.Join(texts, ",")
	return rows
}
