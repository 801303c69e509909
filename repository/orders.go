package repository

import (
	"context"
	"time"

	"gorm.io/gorm"

	"example.com/petstore/domain"
)

// orders implements domain.OrderReader.
type orders struct{ db *gorm.DB }

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

func (o orders) List(ctx context.Context, q domain.OrderQuery) (domain.Page[domain.Order], error) {
	return list(o.db.WithContext(ctx), q.PageRequest, orderRow.order)
}
