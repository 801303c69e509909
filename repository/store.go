package repository

import (
	"context"
	"database/sql"
	"errors"

	"gorm.io/gorm"

	"example.com/petstore/domain"
)

// A Store is an open database. It is safe for concurrent use; Close it.
type Store struct {
	readers *gorm.DB
	writer  *gorm.DB
	pools   []*sql.DB
}

// Pets reads the catalogue, outside any transaction.
func (s *Store) Pets() domain.PetReader { return pets{s.readers} }

// Orders reads the orders, outside any transaction.
func (s *Store) Orders() domain.OrderReader { return orders{s.readers} }

// Keys reads the API keys, outside any transaction.
func (s *Store) Keys() domain.KeyReader { return keys{s.readers} }

// InTx implements domain.Transactor.
func (s *Store) InTx(ctx context.Context, act func(context.Context, domain.Repositories) error) error {
	return translate(s.writer.WithContext(ctx).Transaction(func(tx *gorm.DB) error {
		return act(ctx, domain.Repositories{
			Pets:        pets{tx},
			Orders:      orders{tx},
			Keys:        keys{tx},
			Idempotency: idempotency{tx},
		})
	}))
}

// Ping asks the store a real question. It returns an ErrUnavailable when there is no answer.
func (s *Store) Ping(ctx context.Context) error {
	var ids []int64
	return translate(s.readers.WithContext(ctx).Raw("SELECT id FROM pets LIMIT 1").Scan(&ids).Error)
}

// Close ends all connections, after the statements that run.
func (s *Store) Close() error {
	var errs []error
	for _, pool := range s.pools {
		errs = append(errs, pool.Close())
	}
	return errors.Join(errs...)
}
