package cli

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"example.com/petstore/config"
	"example.com/petstore/domain"
	"example.com/petstore/repository"
	"example.com/petstore/repository/engine"
	"example.com/petstore/repository/postgres"
	"example.com/petstore/repository/sqlite"
)

// engines are the database engines by database.driver.
var engines = map[string]func(dsn string) engine.Engine{"postgres": postgres.New, "sqlite": sqlite.New}

// newEngine returns the engine of the settings.
func newEngine(d config.Database) engine.Engine { return engines[d.Driver](d.DSN) }

// storeName returns the absolute path of a SQLite store, or the name of another one, without
// a secret.
func storeName(d config.Database, e engine.Engine) string {
	if d.Driver == "sqlite" {
		return absolutePath(d.DSN)
	}
	return e.String()
}

// interruptible returns what open returns, or when ctx ends an error that says so, also while
// SQLite waits for a lock of another process, which ignores ctx.
func interruptible[T any](ctx context.Context, open func() (T, error)) (T, error) {
	opened, err := await(ctx, open)
	if err != nil && ctx.Err() != nil {
		err = fmt.Errorf("interrupted while opening the store: %w", context.Cause(ctx))
	}
	return opened, err
}

// await calls fn, which may ignore ctx, and returns when ctx ends.
func await[T any](ctx context.Context, fn func() (T, error)) (none T, _ error) {
	var result T
	var err error
	done := make(chan struct{})
	go func() {
		result, err = fn()
		close(done)
	}()
	select {
	case <-done:
		return result, err
	case <-ctx.Done():
		return none, ctx.Err()
	}
}

// storeOptions returns the options of the store of the settings.
func storeOptions(d config.Database) repository.Options {
	return repository.Options{Options: engine.Options{
		NoMigration: !d.Migrate, MaxOpenConns: d.MaxOpenConns, RequireSynchronous: d.RequireSynchronous,
	}}
}

// mustExist is for a command that neither creates nor migrates a store: a mistyped path is an error, and an
// older program can still open the store afterwards.
const mustExist, mayCreate = true, false

// withStore opens the store, calls fn and closes the store. It reports that the store was
// created or migrated.
func (in *invocation) withStore(ctx context.Context, existing bool, fn func(*repository.Store) error) error {
	settings, err := in.loadConfig()
	if err != nil {
		return err
	}
	d := settings.Database
	e := newEngine(d)
	o := storeOptions(d)
	o.NoMigration = o.NoMigration || existing
	store, err := interruptible(ctx, func() (*repository.Store, error) { return repository.Open(ctx, e, o) })
	if err != nil {
		return err
	}
	switch schema := store.Schema(); {
	case schema.Created && schema.OtherTables != "":
		in.report("created the store %s beside the tables of another program: %s", storeName(d, e), schema.OtherTables)
	case schema.Created:
		in.report("created the store %s", storeName(d, e))
	case schema.Previous != schema.Version:
		in.report("migrated the store %s from schema version %d to %d", storeName(d, e), schema.Previous, schema.Version)
	}
	return storeError(errors.Join(fn(store), store.Close()), e)
}

// storeError returns the error of a command. If the store caused it, the result is the
// cause with the remedy, because the message of an ErrUnavailable is for clients of the API.
func storeError(err error, e engine.Engine) error {
	known, ok := errors.AsType[*domain.Error](err)
	if !ok || known.Kind != domain.ErrUnavailable || known.Cause == nil {
		return err
	}
	cause := fmt.Errorf("the store %s: %w", e, e.Remedy(known.Cause))
	if errors.Is(known.Cause, context.Canceled) {
		cause = errors.New("interrupted")
	}
	if stopped, ok := errors.AsType[*outcomeError](err); ok {
		return &outcomeError{cause, stopped.outcome}
	}
	return cause
}

// An outcomeError is the error of a command that has done a part of its work.
type outcomeError struct {
	err     error
	outcome string
}

func (e *outcomeError) Error() string { return e.err.Error() + ": " + e.outcome }

func (e *outcomeError) Unwrap() error { return e.err }

// interruptedOr returns the error of a command with its outcome: that ctx ended, or else err.
func interruptedOr(ctx context.Context, err error, outcome string) error {
	if ctx.Err() != nil {
		err = errors.New("interrupted")
	}
	return &outcomeError{err, outcome}
}

// absolutePath returns the absolute form of path, or path if the working directory is
// unknown. Unlike filepath.Abs it keeps sub/.., see folder.Of.
func absolutePath(path string) string {
	if wd, err := os.Getwd(); err == nil && !filepath.IsAbs(path) {
		return wd + "/" + strings.TrimPrefix(path, "./")
	}
	return path
}
