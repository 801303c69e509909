package repository

import (
	"context"
	"database/sql"

	"gorm.io/gorm"
)

// An Engine is a database that a Store can keep its records in. Its package is the
// only one that imports the database's driver.
type Engine interface {
	// String names the database in errors and logs, without a secret.
	String() string
	// Open connects to the database. It creates it, or migrates its schema, only where o
	// allows that, and changes nothing in a database that it rejects. Its error is one
	// line that ends with the remedy.
	Open(ctx context.Context, o EngineOptions) (Database, error)
}

// EngineOptions are the Options that concern the engine.
type EngineOptions struct {
	Migrate      bool
	MustExist    bool
	MaxOpenConns int
}

// A Schema is the schema of a store.
type Schema struct {
	Version int64 // the number of its latest migration
	Created bool  // by this Open
}

// A Database is an open database. The methods of a Database and of its Tx that
// write, and ChangedByOthers, are called by one goroutine.
type Database interface {
	// Readers is the pool of connections that only read.
	Readers() gorm.ConnPool
	// Dialector is GORM's, on a connection pool.
	Dialector(pool gorm.ConnPool) gorm.Dialector
	// Begin starts a transaction beside which nobody else writes, in this process or in
	// another. It waits for other writers, for a bounded time.
	Begin(ctx context.Context) (Tx, error)
	// ChangedByOthers reports whether anybody else has committed since the last call.
	// Within a transaction nobody else can until it ends.
	ChangedByOthers(ctx context.Context) (bool, error)
	// Check returns an error when what is written now could be lost.
	Check() error
	// Rebind replaces the placeholders ? of a statement by those of the driver.
	Rebind(statement string) string
	// ErrorKind returns the kind, one of ErrorKinds, of a failure of the database: the same
	// statement may succeed later. It returns "" for any other error.
	ErrorKind(err error) string
	// Schema describes the schema that Open found or created.
	Schema() Schema
	// Pools are the connection pools by what they do, for metrics.
	Pools() map[string]*sql.DB
	// Close closes all connections.
	Close() error
}

// A Tx is a transaction on the connection that writes.
type Tx interface {
	gorm.ConnPool
	// Insert runs an INSERT of one row, with the driver's placeholders, and returns the id
	// that the row was given.
	Insert(ctx context.Context, statement string, args ...any) (id int64, err error)
	// Active returns an error once the database has ended the transaction by itself.
	Active() error
	// Commit returns nil once the transaction is durable. After an error nobody knows
	// whether it is.
	Commit() error
	// Rollback does nothing after a Commit.
	Rollback() error
}
