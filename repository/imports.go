package repository

import (
	"context"

	"gorm.io/gorm"
	"gorm.io/gorm/clause"

	"example.com/petstore/internal/port"
)

// imports implements port.ImportRepository.
type imports struct{ *transaction }

func (i imports) Added(ctx context.Context, file port.FileDigest) (int64, error) {
	var model importModel
	err := i.db.WithContext(ctx).Where("digest = ?", file[:]).Take(&model).Error
	return model.Added, notFoundAs(err, nil)
}

func (i imports) SetAdded(ctx context.Context, file port.FileDigest, added int64) error {
	model := importModel{Digest: file[:], Added: added}
	return i.queue(ctx, func(db *gorm.DB) *gorm.DB { return db.Clauses(clause.OnConflict{UpdateAll: true}).Create(&model) })
}
