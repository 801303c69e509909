package repository

import (
	"cmp"
	"context"
	"database/sql"
	"errors"
	"fmt"

	"gorm.io/gorm"
)

// CopyOptions are the options of Copy.
type CopyOptions struct {
	// Snapshot copies the store as it is now, also while processes have it open. Without it,
	// Copy returns an ErrInUse then, and keeps others from writing to the store meanwhile.
	Snapshot bool
	// Progress is called before each part of the work with what is counted, such as "rows",
	// and the total. The result is called with each number that is done.
	Progress func(units string, total int) (add func(n int))
}

// A CopyResult is what Copy has done. After an error it is that up to then.
type CopyResult struct {
	Started   bool          // whether the target is marked as an unfinished copy
	Tables    []CopiedTable // that are compared
	Rows      int64         // of the source
	Copied    int64         // rows that are in the target, durably
	Earlier   int64         // those of them that an earlier Copy has copied
	Restarted bool          // because the source has changed since an earlier Copy
}

// A CopiedTable is a table that has the same rows in both stores.
type CopiedTable struct {
	Name   string
	Rows   int64
	SHA256 [32]byte
}

// Copy copies all records of a store, with their ids, to another one, which it creates and
// which must be empty. No process may have the target open. Copy compares the records of both
// stores, read again from the target, before it returns.
//
// If it returns an error, or if the process is killed, Open rejects the target until another
// Copy of the same source, by its name, has finished. That continues after the rows in the
// target, unless they are not the first ones of the source any more: then it deletes them and
// starts again. So the target always becomes the copy of one state of the source: the present
// one of the Copy that finishes.
func Copy(ctx context.Context, from, to Engine, o CopyOptions) (result CopyResult, err error) {
	source, err := from.Open(ctx, EngineOptions{MustExist: true, MaxOpenConns: 1, Exclusive: !o.Snapshot})
	if errors.Is(err, ErrInUse) {
		err = fmt.Errorf("%w, or add --snapshot to copy it as it is now, without later changes", err)
	}
	if err != nil {
		return result, fmt.Errorf("open the source %s: %w", from, err)
	}
	defer func() { err = cmp.Or(err, source.Close()) }()
	snapshot, err := beginSnapshot(ctx, source)
	if err != nil {
		return result, fmt.Errorf("read the source %s: %w", from, err)
	}
	defer func() { _ = snapshot.Rollback() }() // it has changed nothing
	if err := checkFinished(ctx, snapshot); err != nil {
		return result, fmt.Errorf("open the source %s: %w", from, err)
	}
	target, err := to.Open(ctx, EngineOptions{Migrate: true, MaxOpenConns: 1, Exclusive: true})
	if err != nil {
		return result, fmt.Errorf("open the target %s: %w", to, err)
	}
	defer func() { err = cmp.Or(err, target.Close()) }()
	c := copying{source: source, snapshot: snapshot, target: copyTarget{target}, progress: o.Progress, result: &result}
	if err := c.target.begin(ctx, from.String()); err != nil {
		return result, fmt.Errorf("copy to %s: %w", to, err)
	}
	result.Started = true
	if err := c.run(ctx); err != nil {
		if target.ErrorKind(err) == KindFull {
			err = fmt.Errorf("%w: free some space", err)
		}
		return result, fmt.Errorf("copy %s to %s: %w", from, to, err)
	}
	return result, nil
}

// beginSnapshot begins a transaction that reads one state of all tables. The end of ctx does
// not end it, because database/sql would roll it back in the background.
func beginSnapshot(ctx context.Context, database Database) (*sql.Tx, error) {
	beginner, ok := database.Readers().(gorm.TxBeginner)
	if !ok {
		return nil, errors.New("the connections that read have no transactions")
	}
	return beginner.BeginTx(context.WithoutCancel(ctx), &sql.TxOptions{Isolation: sql.LevelRepeatableRead, ReadOnly: true})
}

// checkFinished returns an error if a store is an unfinished copy.
func checkFinished(ctx context.Context, pool gorm.ConnPool) error {
	source, err := unfinishedCopyOf(ctx, pool)
	if err == nil && source != "" {
		err = fmt.Errorf("it is an unfinished copy of %s: run the same petstore copy again to finish it, or use another store", source)
	}
	return err
}

// unfinishedCopyOf returns the name of the source if a store is an unfinished copy.
func unfinishedCopyOf(ctx context.Context, pool gorm.ConnPool) (source string, err error) {
	err = pool.QueryRowContext(ctx, "SELECT source FROM unfinished_copy LIMIT 1").Scan(&source)
	if errors.Is(err, sql.ErrNoRows) {
		err = nil
	}
	return source, err
}
