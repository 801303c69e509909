package repository

import (
	"context"
	"time"

	"gorm.io/gorm"
	"gorm.io/gorm/clause"

	"example.com/petstore/domain/apikey"
)

// keys implements port.KeyRepository.
type keys struct {
	session
}

func (k keys) FindByHash(ctx context.Context, hash apikey.Hash) (apikey.Key, error) {
	return k.take(ctx, apikey.Invalid(nil), "hash = ?", hash[:])
}

// find runs the look-ups that take returns with one query, once a connection is free. It repeats the last hash, so that few
// statements are prepared.
func (k keys) find(ctx context.Context, deadline time.Time, take func() []*keyLookup) error {
	return k.readers.run(ctx, deadline, k.db, func(db *gorm.DB) error {
		lookups := take()
		byHash := make(map[apikey.Hash][]*keyLookup, len(lookups))
		var hashes [][]byte
		for _, lookup := range lookups {
			byHash[lookup.hash] = append(byHash[lookup.hash], lookup)
			hashes = append(hashes, lookup.hash[:])
		}
		for len(hashes)&(len(hashes)-1) != 0 {
			hashes = append(hashes, hashes[len(hashes)-1])
		}
		var models []keyModel
		if err := db.Where("hash IN ?", hashes).Find(&models).Error; err != nil {
			return err
		}
		for i := range models {
			key, err := models[i].record()
			if err != nil {
				return err
			}
			for _, lookup := range byHash[key.Hash] {
				lookup.key = key
			}
		}
		return nil
	})
}

func (k keys) Get(ctx context.Context, id int64) (apikey.Key, error) {
	return k.take(ctx, apikey.NotFound(id), "id = ?", id)
}

// take returns the key that matches a condition. If there is none, it returns notFound.
func (k keys) take(ctx context.Context, notFound error, condition string, value any) (apikey.Key, error) {
	var model keyModel
	if err := k.read(ctx, func(db *gorm.DB) error { return db.Where(condition, value).Take(&model).Error }); err != nil {
		return apikey.Key{}, notFoundAs(err, notFound)
	}
	return model.record()
}

func (k keys) List(ctx context.Context) ([]apikey.Key, error) {
	var models []keyModel
	if err := k.read(ctx, func(db *gorm.DB) error { return db.Order("id").Find(&models).Error }); err != nil {
		return nil, err
	}
	all := make([]apikey.Key, len(models))
	for i := range models {
		var err error
		if all[i], err = models[i].record(); err != nil {
			return nil, err
		}
	}
	return all, nil
}

func (k keys) Create(ctx context.Context, key apikey.NewKey) (bool, error) {
	model := newKeyModel(key)
	model.ID = k.tx.LastKey + 1
	done := k.db.WithContext(ctx).
		Clauses(clause.OnConflict{Columns: []clause.Column{{Name: "hash"}}, DoNothing: true}).Create(&model)
	created, err := k.tx.changedOne(done)
	if created {
		k.tx.LastKey++
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
	return k.tx.changedOne(done)
}

func (k keys) Revoke(ctx context.Context, id int64, at time.Time) (bool, error) {
	done := k.db.WithContext(ctx).Model(&keyModel{}).
		Where("id = ? AND (revoked_at IS NULL OR revoked_at > ? AND revoked_at > created_at)", id, at.UnixMilli()).
		Update("revoked_at", notBefore("created_at", at))
	return k.tx.changedOne(done)
}

func (k keys) ScheduleRevocation(ctx context.Context, id int64, now time.Time, overlap time.Duration) (bool, error) {
	done := k.db.WithContext(ctx).Model(&keyModel{}).
		Where("id = ? AND revoked_at IS NULL AND (expires_at IS NULL OR expires_at > ?)", id, now.UnixMilli()).
		Update("revoked_at", gorm.Expr("? + ?", notBefore("created_at", now), overlap.Milliseconds()))
	return k.tx.changedOne(done)
}

func (k keys) SetLastUsed(ctx context.Context, id int64, at time.Time) error {
	return k.tx.queue(ctx, func(db *gorm.DB) *gorm.DB {
		return db.Model(&keyModel{}).
			Where("id = ? AND (last_used_at IS NULL OR last_used_at <= ?)", id, at.Add(-apikey.UseInterval).UnixMilli()).
			Update("last_used_at", notBefore("created_at", at))
	})
}
