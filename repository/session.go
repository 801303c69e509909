package repository

import (
	"context"

	"gorm.io/gorm"

	"example.com/petstore/domain"
	"example.com/petstore/domain/port"
	"example.com/petstore/repository/engine"
	"example.com/petstore/repository/groupcommit"
)

// A session runs the statements of a repository: in a transaction, or on the connections that read.
type session struct {
	database engine.Database
	db       *gorm.DB
	tx       *groupcommit.Tx // nil outside a transaction
}

// A transaction is the session of the functions and the creations of a batch.
type transaction struct {
	session
	claimClock     *claimClock
	deletedExpired bool // the transaction has deleted expired claims
}

func (t *transaction) pets() pets { return pets{reader[domain.Pet]{t.session, petTable, nil}} }

func (t *transaction) repositories() port.Repositories {
	s := t.session
	return port.Repositories{
		Pets: t.pets(), Orders: orders{reader[domain.Order]{s, orderTable, nil}},
		Changes: changes{reader[domain.Change]{s, changeTable, nil}, nil}, Keys: keys{s}, Idempotency: idempotency{t}, Imports: imports{s},
	}
}

// pool returns the connections for the methods of an engine.Database that run statements.
func (s session) pool() gorm.ConnPool { return s.db.Statement.ConnPool }

// changedOne reports whether a statement changed one row. It calls mark, a method of groupcommit.Tx that records the change,
// with the number of changed rows.
func changedOne(done *gorm.DB, mark func(rows int64)) (bool, error) {
	mark(done.RowsAffected)
	return done.RowsAffected == 1, done.Error
}

// withStatus limits a query to the records with a status. If the status is empty, it returns the query unchanged.
func withStatus[S ~string](query *gorm.DB, status S) *gorm.DB {
	if status == "" {
		return query
	}
	return query.Where("status = ?", string(status))
}

// each calls fn with each record of a query on the table of model, ascending by id. If fn returns an error or ctx ends, it
// stops and returns the error. It scans all rows into model: GORM's Find takes longer for a page, and would read a whole
// table into memory.
func each[T any](ctx context.Context, query *gorm.DB, model row[T], fn func(T) error) error {
	return scan(query.WithContext(ctx).Model(model).Order("id"), model.fields(), func() error {
		record, err := model.record()
		if err != nil {
			return err
		}
		return fn(record)
	})
}

// scan scans each row of a query into fields and calls fn. If fn returns an error or the context of the query ends, scan
// stops and returns the error.
func scan(query *gorm.DB, fields []any, fn func() error) error {
	ctx := query.Statement.Context
	rows, err := query.Rows()
	if err != nil {
		release(query)
		return translate(query, err)
	}
	defer rows.Close()
	defer release(query) // cancels the query before Close, which on PostgreSQL would read the rest of the result
	for rows.Next() {
		err := rows.Scan(fields...)
		if err == nil {
			err = ctx.Err()
		}
		if err != nil {
			return query.AddError(err)
		}
		if err := fn(); err != nil {
			return err
		}
	}
	return query.AddError(rows.Err())
}
