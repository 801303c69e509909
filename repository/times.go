package repository

import (
	"time"

	"gorm.io/gorm"
	"gorm.io/gorm/clause"
)

// Times are stored in milliseconds since 1970, in UTC.

func timeOf(millis int64) time.Time { return time.UnixMilli(millis).UTC() }

func timePtr(millis *int64) *time.Time {
	if millis == nil {
		return nil
	}
	t := timeOf(*millis)
	return &t
}

func millisPtr(t *time.Time) *int64 {
	if t == nil {
		return nil
	}
	millis := t.UnixMilli()
	return &millis
}

// notBefore returns a value for an UPDATE: at, or the value of the column if that is
// later, because the clock may have been set back.
func notBefore(column string, at time.Time) clause.Expr {
	return gorm.Expr("CASE WHEN "+column+" > ? THEN "+column+" ELSE ? END", at.UnixMilli(), at.UnixMilli())
}
