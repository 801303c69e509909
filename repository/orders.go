package repository

import (
	"context"
	"database/sql"
	"errors"
	"time"

	"example.com/petstore/domain"
)

// orders implements domain.OrderRepository.
type orders struct {
	session
	changes *changes // of the transaction, nil outside one
}

const selectOrders = "SELECT id, pet_id, status, created_at, updated_at FROM orders"

func scanOrder(r *row) (order domain.Order, err error) {
	var created, updated int64
	err = r.scan(&order.ID, &order.PetID, (*string)(&order.Status), &created, &updated)
	order.CreatedAt, order.UpdatedAt = timeOf(created), timeOf(updated)
	return order, err
}

func (o orders) Get(ctx context.Context, id int64) (domain.Order, error) {
	order, err := queryOne(ctx, o.session, scanOrder, selectOrders+" WHERE id = ?", id)
	if errors.Is(err, sql.ErrNoRows) {
		err = domain.OrderNotFound(id)
	}
	return order, err
}

func (o orders) List(ctx context.Context, q domain.OrderQuery) (domain.Page[domain.Order], error) {
	var conditions []condition
	if q.Status != "" {
		conditions = append(conditions, condition{"status = ?", string(q.Status)})
	}
	if q.PetID != nil {
		conditions = append(conditions, condition{"pet_id = ?", *q.PetID})
	}
	return list(ctx, o.session, scanOrder, q.PageRequest, selectOrders, conditions...)
}

func (o orders) Count(ctx context.Context, status domain.OrderStatus) (int64, error) {
	return count(ctx, o.session, "orders", string(status))
}

func (o orders) Each(ctx context.Context, status domain.OrderStatus, fn func(domain.Order) error) error {
	return each(ctx, o.session, scanOrder, selectOrders, string(status), fn)
}

func (o orders) Create(ctx context.Context, petID int64, at time.Time) (domain.Order, error) {
	o.changes.markInserted()
	// The condition repeats that of the index orders_live. DO NOTHING, because a statement
	// that fails would abort a transaction of PostgreSQL.
	id, err := queryOne(ctx, o.session, scanID,
		`INSERT INTO orders (pet_id, status, created_at, updated_at) VALUES (?, ?, ?, ?)
		ON CONFLICT (pet_id) WHERE status <> 'cancelled' DO NOTHING RETURNING id`,
		petID, string(domain.OrderPlaced), at.UnixMilli(), at.UnixMilli())
	if errors.Is(err, sql.ErrNoRows) {
		err = domain.PetNotAvailable(petID)
	}
	at = timeOf(at.UnixMilli())
	return domain.Order{ID: id, PetID: petID, Status: domain.OrderPlaced, CreatedAt: at, UpdatedAt: at}, err
}

func (o orders) Move(ctx context.Context, id int64, from, to domain.OrderStatus, at time.Time) (bool, error) {
	moved := o.gorm(ctx).Table("orders").Where("id = ? AND status = ?", id, from).
		Updates(map[string]any{"status": to, "updated_at": notBefore("updated_at", at)})
	o.changes.markUpdated(moved.RowsAffected)
	return moved.RowsAffected == 1, translate(o.database, moved.Error)
}
