// Package storecopy copies all records of a store to another store, which may have another engine.
package storecopy

import (
	"cmp"
	"context"
	"database/sql"
	"errors"
	"fmt"
	"slices"

	"gorm.io/gorm"
	"gorm.io/gorm/logger"

	"example.com/petstore/internal/engine"
)

// Options are the options of Copy.
type Options struct {
	// Snapshot copies the store as it is when Copy begins, also while other processes have it open. Without
	// Snapshot, Copy returns an engine.ErrInUse if another process has the store open, and no other process
	// can write to the store until Copy returns.
	Snapshot bool
	// Progress is required. It is called before each part of the work with the unit, such as "rows", and
	// the total. Copy then calls add repeatedly, with the number of units that it has done since the last call.
	Progress func(units string, total int) (add func(n int))
}

// A Result is what Copy has done.
type Result struct {
	Started bool    // whether the target is marked as an unfinished copy, or is complete
	Tables  []Table // all tables, if there was no error
	// OtherTables are the names of tables of other programs in the source, as in engine.Schema. They are
	// not copied.
	OtherTables string
}

// A Table is a table with the same rows in both stores.
type Table struct {
	Name   string
	Rows   int64
	SHA256 [32]byte
}

// Copy copies all records of the store from, with their ids, to the store to. With Options.Snapshot it does not
// copy the changes: clients that follow the changes must begin again. Copy creates the target, which must be missing or
// empty, and which no other process may have open. Before it returns, it reads all records of the target and compares them with the source.
//
// If Copy returns an error with Result.Started, or if the process is killed, the target is an unfinished
// copy of the source. repository.Open rejects it. Another Copy from a source with the same name
// (Engine.String) deletes the records of the target and begins anew.
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
	// If the context of a transaction ends, database/sql rolls it back in the background.
	snapshot := db.WithContext(context.WithoutCancel(ctx)).Begin(&sql.TxOptions{Isolation: sql.LevelRepeatableRead, ReadOnly: true})
	defer snapshot.Rollback()                            // the transaction has changed nothing
	unfinished, err := engine.UnfinishedCopyOf(snapshot) // the error may be the error of Begin
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
	job := copyJob{source, snapshot, target, written, slices.Clone(copiedTables), o.Progress}
	if !o.Snapshot {
		job.tables = append(job.tables, changesTable)
	}
	if err := job.begin(ctx, from.String()); err != nil {
		return result, fmt.Errorf("copy to %s: %w", to, err)
	}
	result.Started, result.OtherTables = true, source.Schema().OtherTables
	if result.Tables, err = job.run(ctx); err != nil {
		err = fmt.Errorf("copy %s to %s: %w", from, to, to.Remedy(from.Remedy(err)))
	}
	return result, err
}

// openGORM returns GORM on the connections that read.
func openGORM(database engine.Database) (*gorm.DB, error) {
	// Errors are returned, and a log must not contain SQL with values.
	config := gorm.Config{SkipDefaultTransaction: true, DisableAutomaticPing: true, Logger: logger.Discard}
	return gorm.Open(database.Dialector(), &config)
}
