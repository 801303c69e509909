package repository

import (
	"context"
	"time"

	"gorm.io/gorm"
	"gorm.io/gorm/clause"

	"example.com/petstore/domain"
)

// keys implements domain.KeyRepository.
type keys struct {
	session
	effects *effects // of the transaction, nil outside one
}

type keyRow struct {
	ID         int64
	Hash       []byte
	Name       string
	LastFour   string
	CreatedAt  int64 `gorm:"autoCreateTime:false"`
	ExpiresAt  *int64
	RevokedAt  *int64
	LastUsedAt *int64
}

func (keyRow) TableName() string { return "api_keys" }

const selectKeys = "SELECT id, hash, name, last_four, created_at, expires_at, revoked_at, last_used_at FROM api_keys"

func keyOf(r *row) domain.APIKey {
	return domain.APIKey{
		ID: r.int(0), Hash: r.digest(1), Name: r.text(2), LastFour: r.text(3), CreatedAt: time.UnixMilli(r.int(4)).UTC(),
		ExpiresAt: moment(r.intOrNull(5)), RevokedAt: moment(r.intOrNull(6)), LastUsedAt: moment(r.intOrNull(7)),
	}
}

func (k keys) Find(ctx context.Context, secret string) (domain.APIKey, error) {
	hash, ok := domain.HashKey(secret)
	if !ok {
		return domain.APIKey{}, domain.InvalidAPIKey()
	}
	return readOne(ctx, k.session, keyOf, domain.InvalidAPIKey(), selectKeys+" WHERE hash = ?", hash[:])
}

func (k keys) List(ctx context.Context) ([]domain.APIKey, error) {
	return read(ctx, k.session, keyOf, 0, selectKeys+" ORDER BY id")
}

func (k keys) Get(ctx context.Context, id int64) (domain.APIKey, error) {
	return readOne(ctx, k.session, keyOf, domain.APIKeyNotFound(id), selectKeys+" WHERE id = ?", id)
}

func (k keys) Create(ctx context.Context, key domain.NewAPIKey) (bool, error) {
	row := keyRow{
		Hash: key.Hash[:], Name: key.Name, LastFour: key.LastFour,
		CreatedAt: key.CreatedAt.UnixMilli(), ExpiresAt: millis(key.ExpiresAt),
	}
	unlessKept := clause.OnConflict{Columns: []clause.Column{{Name: "hash"}}, DoNothing: true}
	created := k.db.WithContext(ctx).Clauses(unlessKept).Create(&row)
	k.effects.changeKeys(created.RowsAffected)
	return created.RowsAffected == 1, translate(created.Error)
}

func (k keys) Any(ctx context.Context) (bool, error) {
	ids, err := read(ctx, k.session, idOf, 1, "SELECT id FROM api_keys LIMIT 1")
	return len(ids) > 0, err
}

func (k keys) Revoke(ctx context.Context, id int64, at time.Time) (bool, error) {
	return k.set(ctx, "revoked_at", notBefore("created_at", at),
		"id = ? AND (revoked_at IS NULL OR revoked_at > ? AND revoked_at > created_at)", id, at.UnixMilli())
}

func (k keys) Retire(ctx context.Context, id int64, now time.Time, overlap time.Duration) (bool, error) {
	end := gorm.Expr("? + ?", notBefore("created_at", now), overlap.Milliseconds())
	return k.set(ctx, "revoked_at", end, "id = ? AND revoked_at IS NULL AND (expires_at IS NULL OR expires_at > ?)", id, now.UnixMilli())
}

func (k keys) Use(ctx context.Context, id int64, at time.Time) error {
	known := at.Add(-domain.KeyUseInterval).UnixMilli()
	_, err := k.set(ctx, "last_used_at", notBefore("created_at", at), "id = ? AND (last_used_at IS NULL OR last_used_at <= ?)", id, known)
	return err
}

// set puts a moment into a column of the key that meets a condition, and reports
// whether it did.
func (k keys) set(ctx context.Context, column string, at clause.Expr, condition string, values ...any) (bool, error) {
	done := k.db.WithContext(ctx).Model(&keyRow{}).Where(condition, values...).Update(column, at)
	k.effects.changeKeys(done.RowsAffected)
	return done.RowsAffected == 1, translate(done.Error)
}

// notBefore is a time for an UPDATE, or what a column has where that is later: the
// clock may have been set back since.
func notBefore(column string, at time.Time) clause.Expr {
	return gorm.Expr("CASE WHEN "+column+" > ? THEN "+column+" ELSE ? END", at.UnixMilli(), at.UnixMilli())
}

// moment is a time that may not come, from the rows.
func moment(millis *int64) *time.Time {
	if millis == nil {
		return nil
	}
	t := time.UnixMilli(*millis).UTC()
	return &t
}

// millis is a time that may not come, as the rows keep it.
func millis(t *time.Time) *int64 {
	if t == nil {
		return nil
	}
	m := t.UnixMilli()
	return &m
}
