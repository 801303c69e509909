package repository

import (
	"context"
	"time"

	"gorm.io/gorm"

	"example.com/petstore/domain"
)

// orderReader implements port.OrderReader.
type orderReader struct{ reader[domain.Order] }

func (o orderReader) List(ctx context.Context, q domain.OrderQuery) (domain.Page[domain.Order], error) {
	if q.IDs != nil {
		return o.pageByID(ctx, q.IDs, q.Newest, q.Selects)
	}
	return o.page(ctx, filterOf("pet_id", q.PetID, q.Statuses, domain.OrderStatuses()), q.PageRequest)
}

func (o orderReader) Live(ctx context.Context, petID int64) (ordered bool, err error) {
	err = o.read(ctx, func(db *gorm.DB) error {
		ordered, err = live(db, petID)
		return err
	})
	return ordered, err
}

// isLive is the condition for an order that is not cancelled.
const isLive = "status <> 'cancelled'"

// live reports whether the animal has an order that is not cancelled.
func live(db *gorm.DB, petID int64) (bool, error) {
	var n int64
	err := db.Model(&orderModel{}).Where("pet_id = ? AND "+isLive, petID).Count(&n).Error
	return n > 0, err
}

func (o orderReader) Count(ctx context.Context, status domain.OrderStatus) (n int64, err error) {
	err = o.readAll(ctx, func(db *gorm.DB) error { return withStatus(db.Model(&orderModel{}), status).Count(&n).Error })
	return n, err
}

func (o orderReader) Each(ctx context.Context, status domain.OrderStatus, fn func(domain.Order) error) error {
	return o.readAll(ctx, func(db *gorm.DB) error { return eachOf(withStatus(db, status), &orderModel{}, "id", fn) })
}

// orders implements port.OrderRepository.
type orders struct{ *transaction }

func (o orders) Get(ctx context.Context, id int64) (domain.Order, error) {
	return orderTable.take(o.db.WithContext(ctx), o.ahead.orders, id)
}

func (o orders) Live(ctx context.Context, petID int64) (bool, error) {
	if ordered, known := o.ahead.ordered[petID]; known {
		return ordered, nil
	}
	return live(o.db.WithContext(ctx), petID)
}

func (o orders) Create(ctx context.Context, petID int64, at time.Time) (domain.Order, error) {
	order := domain.Order{ID: o.LastOrder + 1, PetID: petID, Status: domain.OrderPlaced, CreatedAt: at, UpdatedAt: at}
	model := newOrderModel(order)
	if err := o.queue(ctx, func(db *gorm.DB) *gorm.DB { return db.Create(&model) }); err != nil {
		return domain.Order{}, err
	}
	o.LastOrder++
	o.add(ctx, domain.ChangeOrderPlaced, domain.ChangedRecords{Order: &order})
	return order, nil
}

// changeOfOrder are the types of changes by the status of the order.
var changeOfOrder = map[domain.OrderStatus]domain.ChangeType{
	domain.OrderDelivered: domain.ChangeOrderDelivered,
	domain.OrderCancelled: domain.ChangeOrderCancelled,
}

func (o orders) End(ctx context.Context, order domain.Order) error {
	model := newOrderModel(order)
	if err := o.queue(ctx, func(db *gorm.DB) *gorm.DB { return db.Select("status", "updated_at").Updates(&model) }); err != nil {
		return err
	}
	o.add(ctx, changeOfOrder[order.Status], domain.ChangedRecords{Order: &order})
	return nil
}
