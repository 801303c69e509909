package repository

import (
	"context"

	"gorm.io/gorm"
	"gorm.io/gorm/clause"

	"example.com/petstore/domain"
)

// idempotency implements domain.IdempotencyRepository.
type idempotency struct{ db *gorm.DB }

type idempotencyRow struct {
	Caller      string `gorm:"primaryKey"`
	Value       string `gorm:"primaryKey"`
	Fingerprint []byte
	Result      []byte
	ClaimedAt   int64
}

func (idempotencyRow) TableName() string { return "idempotency_keys" }

// sweepSize is how many outlived keys a claim removes. More than the one that it
// adds, so that the table shrinks to the claims of the last day by itself.
const sweepSize = 2

func (i idempotency) Claim(ctx context.Context, claim domain.Claim) (domain.Outcome, bool, error) {
	db := i.db.WithContext(ctx)
	outlived := claim.At.Add(-domain.IdempotencyTTL).UnixMilli()

	err := db.Exec(`DELETE FROM idempotency_keys WHERE (caller, value) IN (
		SELECT caller, value FROM idempotency_keys WHERE claimed_at <= ? ORDER BY claimed_at LIMIT ?)`,
		outlived, sweepSize).Error
	if err != nil {
		return domain.Outcome{}, false, translate(err)
	}

	row := idempotencyRow{
		Caller: claim.Caller, Value: claim.Value,
		Fingerprint: claim.Fingerprint[:], ClaimedAt: claim.At.UnixMilli(),
	}
	claimed := db.Clauses(clause.OnConflict{
		Columns:   []clause.Column{{Name: "caller"}, {Name: "value"}},
		DoUpdates: clause.AssignmentColumns([]string{"fingerprint", "result", "claimed_at"}),
		Where:     clause.Where{Exprs: []clause.Expression{clause.Lte{Column: "idempotency_keys.claimed_at", Value: outlived}}},
	}).Create(&row)
	if claimed.Error != nil || claimed.RowsAffected == 1 {
		return domain.Outcome{}, claimed.RowsAffected == 1, translate(claimed.Error)
	}

	var earlier idempotencyRow
	if err := db.Take(&earlier, "caller = ? AND value = ?", claim.Caller, claim.Value).Error; err != nil {
		return domain.Outcome{}, false, translate(err)
	}
	return domain.Outcome{Fingerprint: domain.Fingerprint(earlier.Fingerprint), Result: earlier.Result}, false, nil
}

func (i idempotency) Complete(ctx context.Context, key domain.IdempotencyKey, result []byte) error {
	return translate(i.db.WithContext(ctx).Model(&idempotencyRow{}).
		Where("caller = ? AND value = ?", key.Caller, key.Value).Update("result", result).Error)
}
