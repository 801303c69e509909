// Package storecopy copies a whole store into another one, which may have another engine.
// It is not for embedders.
package storecopy

import (
	"cmp"
	"context"
	"database/sql"
	"errors"
	"fmt"

	"gorm.io/gorm"
	"gorm.io/gorm/logger"

	"example.com/petstore/repository/engine"
)

// Options are the options of Copy.
type Options struct {
	// Snapshot copies the store as it is now, also while processes have it open. Without it,
	// Copy returns an engine.ErrInUse then, and keeps others from writing to the store meanwhile.
	Snapshot bool
	// Progress is required. It is called before each part of the work with what is counted,
	// such as "rows", and the total. The result is called with each number that is done.
	Progress func(units string, total int) (add func(n int))
}

// A Result is what Copy has done.
type Result struct {
	Started bool    // the target is marked as an unfinished copy, or is the copy
	Tables  []Table // all, if there was no error
	// OtherTables are the tables of other programs beside those of the source, which are not copied, see engine.Schema.
	OtherTables string
}

// A Table is a table that has the same rows in both stores.
type Table struct {
	Name   string
	Rows   int64
	SHA256 [32]byte
}

// Copy copies all records of a store, with their ids, to another one, which it creates and
// which must be empty. No process may have the target open. Copy compares the records of both
// stores, read again from the target, before it returns.
//
// If it returns an error with Result.Started, or if the process is killed, the target is an
// unfinished copy of the source, by the name of its engine. repository.Open rejects it. Another
// Copy of the same source deletes its records and begins anew.
func Copy(ctx context.Context, from, to engine.Engine, o Options) (result Result, err error) {
	source, err := from.Open(ctx, engine.Options{NoMigration: true, MaxOpenConns: 1, Exclusive: !o.Snapshot})
	if errors.Is(err, engine.ErrInUse) {
		err = fmt.Errorf("%w, or add --snapshot to copy it as it is now, without later changes", err)
	}
	if err != nil {
		return result, fmt.Errorf("open the source %s: %w", from, err)
	}
	defer func() { err = cmp.Or(err, source.Close()) }()
	db, err := openGORM(source)
	if err != nil {
		return result, fmt.Errorf("read the source %s: %w", from, err)
	}
	// With a context that ends, database/sql would roll back in the background.
	snapshot := db.WithContext(context.WithoutCancel(ctx)).Begin(&sql.TxOptions{Isolation: sql.LevelRepeatableRead, ReadOnly: true})
	defer snapshot.Rollback()                     // it has changed nothing
	unfinished, err := unfinishedCopyOf(snapshot) // or the error of Begin
	if err == nil && unfinished != "" {
		err = engine.UnfinishedCopyError(unfinished)
	}
	if err != nil {
		return result, fmt.Errorf("open the source %s: %w", from, err)
	}
	target, err := to.Open(ctx, engine.Options{MaxOpenConns: 1, Exclusive: true})
	if err != nil {
		return result, fmt.Errorf("open the target %s: %w", to, err)
	}
	defer func() { err = cmp.Or(err, target.Close()) }()
	written, err := openGORM(target)
	if err != nil {
		return result, fmt.Errorf("open the target %s: %w", to, err)
	}
	job := copyJob{source, snapshot, target, written, o.Progress}
	if err := job.begin(ctx, from.String()); err != nil {
		return result, fmt.Errorf("copy to %s: %w", to, err)
	}
	result.Started, result.OtherTables = true, source.Schema().OtherTables
	if result.Tables, err = job.run(ctx); err != nil {
		if target.Failure(err) == engine.FailureFull {
			err = fmt.Errorf("%w: free some space", err)
		}
		err = fmt.Errorf("copy %s to %s: %w", from, to, err)
	}
	return result, err
}

// openGORM returns GORM on the connections of a database that read.
func openGORM(database engine.Database) (*gorm.DB, error) {
	// Errors are returned; SQL with values belongs in no log.
	config := gorm.Config{SkipDefaultTransaction: true, DisableAutomaticPing: true, Logger: logger.Discard}
	return gorm.Open(database.Dialector(database.Readers()), &config)
}

// unfinishedCopyOf returns the name of the source if a store is an unfinished copy.
func unfinishedCopyOf(db *gorm.DB) (source string, err error) {
	err = db.Table("unfinished_copy").Select("source").Limit(1).Scan(&source).Error
	return source, err
}
