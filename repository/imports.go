package repository

import (
	"context"
	"database/sql"
	"errors"
	"time"

	"example.com/petstore/domain"
)

// imports implements domain.ImportRepository.
type imports struct {
	session
	changes *changes
}

func scanImport(r *row) (state domain.ImportState, err error) {
	var complete int64
	err = r.scan(&state.Added, &complete)
	state.Complete = complete == 1
	return state, err
}

func (i imports) Find(ctx context.Context, file domain.FileDigest) (domain.ImportState, error) {
	state, err := queryOne(ctx, i.session, scanImport, "SELECT added, complete FROM imports WHERE digest = ?", file[:])
	if errors.Is(err, sql.ErrNoRows) {
		err = nil
	}
	return state, err
}

func (i imports) Advance(ctx context.Context, file domain.FileDigest, from, to domain.ImportState, at time.Time) (bool, error) {
	// Without a record the INSERT decides: only one of several concurrent ones inserts it.
	statement := "INSERT INTO imports (added, complete, updated_at, digest) VALUES (?, ?, ?, ?) ON CONFLICT (digest) DO NOTHING"
	args := []any{to.Added, asInt(to.Complete), at.UnixMilli(), file[:]}
	if from != (domain.ImportState{}) {
		statement = "UPDATE imports SET added = ?, complete = ?, updated_at = ? WHERE digest = ? AND added = ? AND complete = ?"
		args = append(args, from.Added, asInt(from.Complete))
	}
	advanced, err := i.execDirect(ctx, statement, args...)
	i.changes.markDirty(advanced)
	return advanced == 1, err
}

// asInt returns a boolean as it is stored.
func asInt(b bool) int64 {
	if b {
		return 1
	}
	return 0
}
