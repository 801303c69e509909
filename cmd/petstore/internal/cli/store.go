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
	"example.com/petstore/internal/engine"
	"example.com/petstore/repository"
	"example.com/petstore/repository/postgres"
	"example.com/petstore/repository/sqlite"
)

// engines has the functions that return a database engine, by database.driver.
var engines = map[string]func(dsn string) engine.Engine{"postgres": postgres.New, "sqlite": sqlite.New}

// newEngine returns the engine of the settings.
func newEngine(d config.Database) engine.Engine { return engines[d.Driver](d.DSN) }

// storeName returns the name of a store for people, without a secret. The name of a SQLite store is its absolute path.
func storeName(d config.Database, e engine.Engine) string {
	if d.Driver == "sqlite" {
		return absolutePath(d.DSN)
	}
	return e.String()
}

// interruptible calls open and returns its result. When ctx ends, it returns an error at once, even if open does not:
// SQLite ignores ctx while it waits for a lock of another process.
func interruptible[T any](ctx context.Context, open func() (T, error)) (T, error) {
	opened, err := await(ctx, open)
	if err != nil && ctx.Err() != nil {
		err = fmt.Errorf("interrupted while opening the store: %w", context.Cause(ctx))
	}
	return opened, err
}

// await calls fn and returns its result. When ctx ends, it returns at once, although fn may ignore ctx and still run.
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

// The argument existing of withStore. With mustExist, a command neither creates nor migrates the store: a mistyped
// path or the wrong folder is an error, and an older program can still open the store afterwards.
const mustExist, mayCreate = true, false

// withStore opens the store, calls fn and closes the store. If it has created or migrated the store, it reports that on
// standard error.
func (in *invocation) withStore(ctx context.Context, existing bool, fn func(*repository.Store) error) error {
	settings, err := in.loadConfig()
	if err != nil {
		return err
	}
	d := settings.Database
	e := newEngine(d)
	o := repository.Options{Options: engine.Options{
		NoMigration: existing || !d.Migrate, MaxOpenConns: d.MaxOpenConns, RequireSynchronous: d.RequireSynchronous,
	}}
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

// storeError returns the error of a command. For an ErrUnavailable it returns the cause with a remedy, because the
// message of an ErrUnavailable is for clients of the API.
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

// An outcomeError is the error of a command that may have done a part of its work. outcome says which part.
type outcomeError struct {
	err     error
	outcome string
}

func (e *outcomeError) Error() string { return e.err.Error() + ": " + e.outcome }

func (e *outcomeError) Unwrap() error { return e.err }

// interruptedOr returns the error of a command with its outcome. If ctx has ended, the error is "interrupted"
// instead of err.
func interruptedOr(ctx context.Context, err error, outcome string) error {
	if ctx.Err() != nil {
		err = errors.New("interrupted")
	}
	return &outcomeError{err, outcome}
}

// absolutePath returns the absolute form of path, or path itself if the working directory is unknown. Unlike
// filepath.Abs, it does not remove elements such as sub/.., see folder.Of.
func absolutePath(path string) string {
	if wd, err := os.Getwd(); err == nil && !filepath.IsAbs(path) {
		return wd + "/" + strings.TrimPrefix(path, "./")
	}
	return path
}
