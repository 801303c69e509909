package repository

import (
	"context"
	"time"

	"gorm.io/gorm/clause"

	"example.com/petstore/domain"
)

// orders implements port.OrderRepository.
type orders struct{ reader[domain.Order] }

func (o orders) Get(ctx context.Context, id int64) (domain.Order, error) {
	return o.get(ctx, id, domain.OrderNotFound)
}

func (o orders) List(ctx context.Context, q domain.OrderQuery) (domain.Page[domain.Order], error) {
	rows := o.rows
	if q.PetID == nil {
		return o.page(ctx, withStatuses(rows, "status", q.Statuses), q.PageRequest) // the column of the index orders_status_id
	}
	// The index orders_pet_id has no status. An expression keeps the database from using the other index.
	rows.Column, rows.Value = "pet_id", *q.PetID
	return o.page(ctx, withStatuses(rows, "COALESCE(status, '')", q.Statuses), q.PageRequest)
}

func (o orders) Live(ctx context.Context, petID int64) (_ bool, err error) {
	var n int64
	err = o.db.WithContext(ctx).Model(&orderModel{}).Where("pet_id = ? AND status <> 'cancelled'", petID).Count(&n).Error
	return n > 0, err
}

func (o orders) Count(ctx context.Context, status domain.OrderStatus) (n int64, err error) {
	err = withStatus(o.db.WithContext(ctx).Model(&orderModel{}), status).Count(&n).Error
	return n, err
}

func (o orders) Each(ctx context.Context, status domain.OrderStatus, fn func(domain.Order) error) error {
	return each(ctx, withStatus(o.db, status), &orderModel{}, fn)
}

// oneUncancelledOrder makes an INSERT do nothing if the index orders_live has an order of the animal. A
// statement that fails would abort the transaction of PostgreSQL.
var oneUncancelledOrder = clause.OnConflict{
	Columns:     []clause.Column{{Name: "pet_id"}},
	TargetWhere: clause.Where{Exprs: []clause.Expression{clause.Expr{SQL: "status <> 'cancelled'"}}},
	DoNothing:   true,
}

func (o orders) Create(ctx context.Context, petID int64, at time.Time) (domain.Order, error) {
	model := orderModel{PetID: petID, Status: string(domain.OrderPlaced), CreatedAt: at.UnixMilli(), UpdatedAt: at.UnixMilli()}
	done := o.db.WithContext(ctx).Clauses(oneUncancelledOrder).Create(&model)
	o.tx.MarkAdded(done.RowsAffected)
	switch {
	case done.Error != nil:
		return domain.Order{}, done.Error
	case done.RowsAffected == 0:
		return domain.Order{}, domain.PetNotAvailable(petID, domain.PetPending)
	}
	return model.record()
}

func (o orders) ChangeStatusIf(ctx context.Context, id int64, from, to domain.OrderStatus, at time.Time) (bool, error) {
	done := o.db.WithContext(ctx).Model(&orderModel{}).Where("id = ? AND status = ?", id, from).
		Updates(map[string]any{"status": to, "updated_at": notBefore("updated_at", at)})
	return changedOne(done, o.tx.MarkChanged)
}
