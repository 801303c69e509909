package repository

import (
	"context"
	"time"

	"gorm.io/gorm"
	"gorm.io/gorm/clause"

	"example.com/petstore/domain/apikey"
)

// keys implements port.KeyRepository.
type keys struct{ *transaction }

func (k keys) Get(ctx context.Context, id int64) (apikey.Key, error) {
	var model keyModel
	if err := k.db.WithContext(ctx).Where("id = ?", id).Take(&model).Error; err != nil {
		return apikey.Key{}, notFoundAs(err, apikey.NotFound(id))
	}
	return model.record()
}

func (k keys) Create(ctx context.Context, key apikey.NewKey) (bool, error) {
	model := newKeyModel(key)
	model.ID = k.LastKey + 1
	done := k.db.WithContext(ctx).
		Clauses(clause.OnConflict{Columns: []clause.Column{{Name: "hash"}}, DoNothing: true}).Create(&model)
	created, err := k.changedOne(done)
	if created {
		k.LastKey++
	}
	return created, err
}

func (k keys) Any(ctx context.Context) (bool, error) {
	var ids []int64
	err := k.db.WithContext(ctx).Model(&keyModel{}).Limit(1).Pluck("id", &ids).Error
	return len(ids) > 0, err
}

func (k keys) Edit(ctx context.Context, id int64, name string, scopes apikey.Scopes) (bool, error) {
	model := newKeyModel(apikey.NewKey{Name: name, Scopes: scopes})
	done := k.db.WithContext(ctx).Model(&keyModel{}).Where("id = ?", id).
		Updates(&keyModel{Name: model.Name, Scopes: model.Scopes}) // leaves zero values as they are
	return k.changedOne(done)
}

func (k keys) Revoke(ctx context.Context, id int64, at time.Time) (bool, error) {
	done := k.db.WithContext(ctx).Model(&keyModel{}).
		Where("id = ? AND (revoked_at IS NULL OR revoked_at > ? AND revoked_at > created_at)", id, at.UnixMilli()).
		Update("revoked_at", notBefore("created_at", at))
	return k.changedOne(done)
}

func (k keys) ScheduleRevocation(ctx context.Context, id int64, now time.Time, overlap time.Duration) (bool, error) {
	done := k.db.WithContext(ctx).Model(&keyModel{}).
		Where("id = ? AND revoked_at IS NULL AND (expires_at IS NULL OR expires_at > ?)", id, now.UnixMilli()).
		Update("revoked_at", gorm.Expr("? + ?", notBefore("created_at", now), overlap.Milliseconds()))
	return k.changedOne(done)
}

func (k keys) SetLastUsed(ctx context.Context, id int64, at time.Time) error {
	return k.queue(ctx, func(db *gorm.DB) *gorm.DB {
		return db.Model(&keyModel{}).
			Where("id = ? AND (last_used_at IS NULL OR last_used_at <= ?)", id, at.Add(-apikey.UseInterval).UnixMilli()).
			Update("last_used_at", notBefore("created_at", at))
	})
}
