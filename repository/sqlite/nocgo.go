//go:build !cgo || !unix

// Package sqlite needs cgo and Unix. Without them, no store can be opened.
package sqlite

import (
	"context"
	"errors"

	"example.com/petstore/internal/engine"
)

// New returns an engine whose Open returns an error that says how to get a petstore with SQLite.
func New(path string) engine.Engine { return noEngine{path} }

type noEngine struct{ path string }

func (e noEngine) String() string       { return e.path }
func (noEngine) Remedy(err error) error { return err }

func (noEngine) Open(context.Context, engine.Options) (engine.Database, error) {
	return nil, errors.New("this petstore was built without sqlite, which needs cgo and Unix: use one that was built with a C compiler and " +
		"CGO_ENABLED=1, or a PostgreSQL store")
}
