package repository

import (
	"context"
	"database/sql"
	"time"

	"gorm.io/gorm"

	"example.com/petstore/domain"
	"example.com/petstore/repository/sharedquery"
)

// sharedReadTimeout is how long a query of sharedReads may take. Close waits for it.
const sharedReadTimeout = 5 * time.Second

// sharedReads reads records and pages of a table on an engine that batches statements: with one
// query for all requests that wait for rows of the same kind. Its span belongs to no request.
type sharedReads[T any] struct {
	query  *sharedquery.Query[rowsOf, int64, []T]
	report func(error) error // called with the error of each request
}

// rowsOf are the first rows, ascending by id, that a request with an id reads.
type rowsOf struct {
	condition string // on the id of a row and wanted.id, that of the request
	status    string // "" for any
	category  sql.NullInt64
	limit     int
}

// query returns the query for the rows. Those of each status are in the order of an index that begins with it:
// PostgreSQL believes that a status is spread evenly, so for an order by id alone it would use the
// primary key, and read rows of other statuses until it has found enough, possibly all of them.
func (of rowsOf) query(db *gorm.DB, model any) *gorm.DB {
	rows, status, statuses := db.Model(model).Limit(of.limit), "status", []domain.PetStatus{domain.PetStatus(of.status)}
	switch {
	case of.category.Valid:
		rows, status = rows.Where("category_id = ?", of.category.Int64), "COALESCE(status, '')"
		if of.status == "" {
			statuses = append(domain.PetStatuses(), "")
		}
	case of.status == "":
		return rows.Where(of.condition).Order("id")
	}
	rows = rows.Where("(" + status + ", id) > (one.status, wanted.id) AND " + status + " <= one.status").Order(status + ", id")
	return db.Select("page.*").Table("unnest(CAST(? AS text[])) AS one (status), LATERAL (?) AS page", &statuses, rows).
		Order("page.id").Limit(of.limit)
}

// newSharedReads returns a sharedReads for the table of a model. The caller must close its query.
func newSharedReads[T any](db *gorm.DB, r *readers, newModel func() row[T]) *sharedReads[T] {
	unreported := *r
	unreported.report = func(err error) error { return err }
	db = db.Session(&gorm.Session{NewDB: true, Context: context.Background()})
	db.Statement.ConnPool = &unreported
	return &sharedReads[T]{report: r.report, query: sharedquery.New(func(ctx context.Context, of rowsOf, ids []int64) ([][]T, error) {
		ctx, cancel := context.WithTimeout(ctx, sharedReadTimeout)
		defer cancel()
		model := newModel()
		query := db.WithContext(ctx).Select("n, found.*").Order("n, found.id").
			Table("unnest(CAST(? AS bigint[])) WITH ORDINALITY AS wanted (id, n), LATERAL (?) AS found", &ids, of.query(db, model)) // GORM would expand ids
		var n int
		found := make([][]T, len(ids))
		for i := range found {
			found[i] = make([]T, 0, of.limit)
		}
		err := scan(query, append([]any{&n}, model.fields()...), func() error {
			record, err := model.record()
			found[n-1] = append(found[n-1], record)
			return err
		})
		return found, err
	})}
}

// get returns the record with an id, or the error notFound.
func (s *sharedReads[T]) get(ctx context.Context, id int64, notFound func(int64) error) (record T, err error) {
	found, err := s.read(ctx, rowsOf{condition: "id = wanted.id", limit: 1}, id)
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
	of := rowsOf{condition: "id > wanted.id", status: status, limit: page.Limit + 1}
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
