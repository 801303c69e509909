package repository

import (
	"context"
	"time"

	"gorm.io/gorm"
	"gorm.io/gorm/clause"

	"example.com/petstore/domain/port"
)

// imports implements port.ImportRepository.
type imports struct{ session }

func (i imports) Find(ctx context.Context, file port.FileDigest) (port.ImportState, error) {
	var model importModel
	err := i.db.WithContext(ctx).Where("digest = ?", file[:]).Take(&model).Error
	return port.ImportState{Added: model.Added, Complete: model.Complete != 0}, notFoundAs(err, nil)
}

func (i imports) Advance(ctx context.Context, file port.FileDigest, from, to port.ImportState, at time.Time) (bool, error) {
	db := i.db.WithContext(ctx)
	model := importModel{Digest: file[:], Added: to.Added, Complete: asInt(to.Complete), UpdatedAt: at.UnixMilli()}
	var done *gorm.DB
	if from == (port.ImportState{}) { // there may be a row: with the zero state if the import begins once more, otherwise of another process
		done = db.Clauses(clause.OnConflict{
			Columns:   []clause.Column{{Name: "digest"}},
			DoUpdates: clause.AssignmentColumns([]string{"added", "complete", "updated_at"}),
			Where:     clause.Where{Exprs: []clause.Expression{clause.Expr{SQL: "imports.added = 0 AND imports.complete = 0"}}},
		}).Create(&model)
	} else {
		done = db.Where("digest = ? AND added = ? AND complete = ?", file[:], from.Added, asInt(from.Complete)).
			Select("added", "complete", "updated_at").Updates(&model)
	}
	return i.tx.changedOne(done)
}
