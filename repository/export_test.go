package repository

import (
	"context"

	"golang.org/x/sync/semaphore"
	"gorm.io/gorm"

	"example.com/petstore/domain"
	"example.com/petstore/domain/port"
	"example.com/petstore/repository/engine"
)

// For the tests of package repository_test, which import an engine.

func (s *Store) slots() *semaphore.Weighted { return s.reads.db.ConnPool.(*readers).slots }

// AcquireReadSlots acquires n of the connections that read.
func (s *Store) AcquireReadSlots(ctx context.Context, n int64) error {
	return s.slots().Acquire(ctx, n)
}

// TryAcquireReadSlots acquires n of the connections that read if they are free.
func (s *Store) TryAcquireReadSlots(n int64) bool { return s.slots().TryAcquire(n) }

// ReleaseReadSlots releases n of the connections that read.
func (s *Store) ReleaseReadSlots(n int64) { s.slots().Release(n) }

// ExecIn runs a statement within the transaction of r, which records no change.
func ExecIn(ctx context.Context, r port.Repositories, statement string) error {
	_, err := r.Pets.(pets).tx.ExecContext(ctx, statement)
	return err
}

// FailureOf returns what failed in the store.
func (s *Store) FailureOf(err error) engine.Failure { return failureOf(s.database, err) }

// PlanOfCategory returns the plan of SQLite for the statement that reads a page of a category.
func (s *Store) PlanOfCategory(q domain.PetQuery) (plan string, err error) {
	statement := s.reads.db.ToSQL(func(tx *gorm.DB) *gorm.DB {
		p := pets{session: session{db: tx.Session(&gorm.Session{NewDB: true})}}
		return p.ofCategory(q).Where("id > ?", q.After).Order("id").Find(&[]petModel{})
	})
	var steps []struct{ Detail string }
	err = s.reads.db.Raw("EXPLAIN QUERY PLAN " + statement).Find(&steps).Error
	for _, step := range steps {
		plan += step.Detail + "\n"
	}
	return plan, err
}
