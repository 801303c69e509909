package repository

import (
	"context"
	"time"

	"example.com/petstore/domain"
)

// orders implements domain.OrderRepository.
type orders struct {
	session
	effects *effects // of the transaction, nil outside one
}

type orderRow struct {
	ID        int64
	PetID     int64
	Status    domain.OrderStatus
	CreatedAt int64 `gorm:"autoCreateTime:false"`
	UpdatedAt int64 `gorm:"autoUpdateTime:false"`
}

func (orderRow) TableName() string { return "orders" }

func (r orderRow) order() domain.Order {
	return domain.Order{
		ID: r.ID, PetID: r.PetID, Status: r.Status,
		CreatedAt: time.UnixMilli(r.CreatedAt).UTC(), UpdatedAt: time.UnixMilli(r.UpdatedAt).UTC(),
	}
}

const selectOrders = "SELECT id, pet_id, status, created_at, updated_at FROM orders"

func orderOf(r *row) domain.Order {
	return orderRow{
		ID: r.int(0), PetID: r.int(1), Status: domain.OrderStatus(r.text(2)), CreatedAt: r.int(3), UpdatedAt: r.int(4),
	}.order()
}

func (o orders) Get(ctx context.Context, id int64) (domain.Order, error) {
	return readOne(ctx, o.session, orderOf, domain.OrderNotFound(id), selectOrders+" WHERE id = ?", id)
}

func (o orders) List(ctx context.Context, q domain.OrderQuery) (domain.Page[domain.Order], error) {
	var conditions []condition
	if q.Status != "" {
		conditions = append(conditions, condition{"status = ?", string(q.Status)})
	}
	if q.PetID != nil {
		conditions = append(conditions, condition{"pet_id = ?", *q.PetID})
	}
	return list(ctx, o.session, selectOrders, q.PageRequest, orderOf, conditions...)
}

func (o orders) Create(ctx context.Context, petID int64, at time.Time) (domain.Order, error) {
	o.effects.insert()
	row := orderRow{PetID: petID, Status: domain.OrderPlaced, CreatedAt: at.UnixMilli(), UpdatedAt: at.UnixMilli()}
	err := o.db.WithContext(ctx).Create(&row).Error
	if isUniqueViolation(err) { // of orders_live: the animal has an order
		return domain.Order{}, domain.PetNotAvailable(petID)
	}
	return row.order(), translate(err)
}

func (o orders) Move(ctx context.Context, id int64, from, to domain.OrderStatus, at time.Time) (bool, error) {
	moved := o.db.WithContext(ctx).Model(&orderRow{}).Where("id = ? AND status = ?", id, from).
		Updates(map[string]any{"status": to, "updated_at": notBefore("updated_at", at)})
	o.effects.change(moved.RowsAffected)
	return moved.RowsAffected == 1, translate(moved.Error)
}
