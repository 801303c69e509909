package repository

import (
	"context"
	"errors"
	"time"

	"gorm.io/gorm"

	"example.com/petstore/domain"
)

// keys implements domain.KeyRepository.
type keys struct {
	db      *gorm.DB
	effects *effects // of the transaction, nil outside one
}

type keyRow struct {
	ID        int64
	Hash      []byte
	Name      string
	LastFour  string
	CreatedAt int64 `gorm:"autoCreateTime:false"`
	ExpiresAt *int64
	RevokedAt *int64
}

func (keyRow) TableName() string { return "api_keys" }

func (r keyRow) key() domain.APIKey {
	return domain.APIKey{
		ID: r.ID, Name: r.Name, Hash: domain.KeyHash(r.Hash), LastFour: r.LastFour,
		CreatedAt: time.UnixMilli(r.CreatedAt).UTC(), ExpiresAt: moment(r.ExpiresAt), RevokedAt: moment(r.RevokedAt),
	}
}

func (k keys) Find(ctx context.Context, hash domain.KeyHash) (domain.APIKey, error) {
	var row keyRow
	err := k.db.WithContext(ctx).Take(&row, "hash = ?", hash[:]).Error
	if errors.Is(err, gorm.ErrRecordNotFound) {
		return domain.APIKey{}, domain.InvalidAPIKey()
	}
	if err != nil {
		return domain.APIKey{}, translate(err)
	}
	return row.key(), nil
}

func (k keys) Create(ctx context.Context, key domain.NewAPIKey) (domain.APIKey, error) {
	k.effects.keys = true
	row := keyRow{Hash: key.Hash[:], Name: key.Name, LastFour: key.LastFour, CreatedAt: key.CreatedAt.UnixMilli()}
	if err := k.db.WithContext(ctx).Create(&row).Error; err != nil {
		return domain.APIKey{}, translate(err)
	}
	return row.key(), nil
}

func (k keys) Any(ctx context.Context) (bool, error) {
	var exists bool
	err := k.db.WithContext(ctx).Raw("SELECT EXISTS (SELECT 1 FROM api_keys)").Scan(&exists).Error
	return exists, translate(err)
}

// moment is a time that may not have come, as the rows keep it.
func moment(millis *int64) *time.Time {
	if millis == nil {
		return nil
	}
	t := time.UnixMilli(*millis).UTC()
	return &t
}
