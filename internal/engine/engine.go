// Package engine says what package repository needs from a database. A database engine is a package, such
// as repository/sqlite, with a function New that returns an Engine.
package engine

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"time"

	"gorm.io/gorm"
)

// An Engine opens the database of a store. Only the package of an engine imports the driver of its
// database.
type Engine interface {
	// String returns the name of the database for errors and logs. It contains no secret.
	String() string
	// Open connects to the database. If Open rejects a database, it does not change it. Its error is one
	// line that ends with the remedy.
	Open(ctx context.Context, o Options) (Database, error)
	// Remedy returns an error of the database as one line with the cause. If the cause is known, the line
	// ends with the remedy.
	Remedy(err error) error
}

// Options are the options of Engine.Open. They are embedded in repository.Options.
type Options struct {
	// NoMigration makes Open reject a store that does not exist or has an older schema. Otherwise Open
	// creates the store or migrates its schema.
	NoMigration bool
	// MaxOpenConns is the number of connections that read. If it is 0, repository.Open uses 4.
	MaxOpenConns int
	// RequireSynchronous makes transactions and Check fail while a commit on a PostgreSQL server would not
	// wait for a standby. Open succeeds all the same.
	RequireSynchronous bool
	// Service opens a store for the service. A SQLite file has one service at a time: Open waits up to 30 s
	// until another one has stopped, as long as that needs with the default settings. Commands leave it out.
	// PostgreSQL ignores it.
	Service bool
	// Exclusive opens a store alone. Open returns an ErrInUse while somebody has the store open. Until Close,
	// no other process can open the store. The Database may have one connection, for either a transaction or
	// reads at a time. An existing store is not migrated. repository.Open rejects this option.
	Exclusive bool
}

// ErrInUse is the error of Open with Options.Exclusive while a process has the store open.
var ErrInUse = errors.New("a process has it open: stop the service and all petstore commands, then try again")

// UnfinishedCopyError returns the error for a store that petstore copy has begun to copy from source, and
// has not finished.
func UnfinishedCopyError(source string) error {
	return fmt.Errorf("it is an unfinished copy of %s: run the same petstore copy again, which begins anew, or use another store", source)
}

// UnfinishedCopyOf returns the name of the source if a store is an unfinished copy, and otherwise "".
func UnfinishedCopyOf(db *gorm.DB) (source string, err error) {
	err = db.Table("unfinished_copy").Select("source").Limit(1).Find(&source).Error
	return source, err
}

// A Schema is the schema of a store.
type Schema struct {
	Version  int64 // the number of the latest migration that was applied
	Previous int64 // the Version before Open migrated the store; Version if Open has applied no migration
	Created  bool  // whether Open created the store
	// MigratedAt is when the latest migration was applied, by this or another process.
	MigratedAt time.Time
	// OtherTables are the names of the tables of other programs in the same database, separated by commas.
	OtherTables string
}

// Tables are the names of the tables of a store, of all engines together, as a list for the operator IN of
// SQL. The database may have tables of other programs with other names.
const Tables = `('api_keys', 'categories', 'changes', 'idempotency_keys', 'imports', 'orders', 'pets', 'petstore_schema_version',
	'store', 'store_file', 'unfinished_copy')`

// OtherTableError returns the error for a database in which another program has a table with a name of
// Tables.
func OtherTableError(table string) error {
	return fmt.Errorf("another program has a table %s in it, and a store needs one of that name: use another file or schema", table)
}

// The numbers of the first and of the newest migration of each engine.
const (
	FirstSchemaVersion = 100
	SchemaVersion      = 100
)

// ErrEarlySchema is the error for the store of a program before version 1.0.0, whose migrations had lesser numbers.
var ErrEarlySchema = errors.New("a petstore before version 1.0.0 has made the store, and there is no migration: use a new store")

// CheckSchemaVersion returns an ErrEarlySchema, or, unless migrate is set, an error for any other older schema. The error
// ends with the remedy. For a newer schema see State.CheckSchema.
func CheckSchemaVersion(current int64, migrate bool) error {
	switch {
	case current > 0 && current < FirstSchemaVersion:
		return ErrEarlySchema
	case current < SchemaVersion && !migrate:
		return fmt.Errorf("wrong schema version: the store has %d, this program needs %d: run petstore migrate up", current, SchemaVersion)
	}
	return nil
}

// A Database is an open database. It is safe for concurrent use, with two limits. Only one goroutine at a
// time may call Begin and the methods of a Tx. Only one goroutine at a time may call Poll; another one may have
// a transaction meanwhile.
type Database interface {
	// Dialector returns GORM's dialector with the pool of read-only connections. The pool has one connection more than
	// Options.MaxOpenConns.
	Dialector() gorm.Dialector
	// Begin begins a transaction. Until it ends, no other connection and no other process can write. Begin
	// waits for other writers, for a limited time and until the deadline of ctx.
	//
	// Unless ahead is nil, Begin also runs the queries that it returns, which see what the transaction sees, and then calls
	// done. A remote database sends them with the begin. Begin calls ahead each time it tries to begin. If a query fails,
	// the transaction begins, and done is not called.
	Begin(ctx context.Context, ahead func() (queries []Query, done func())) (Tx, error)
	// Poll returns the latest committed state. It reports true if commits since the last call may not be in it,
	// for example because another program made them or the server is another one.
	Poll(ctx context.Context) (State, bool, error)
	// IsRemote reports whether each query takes a round trip to a server. Then Poll misses no commit, and is called before
	// each use of a cache. Otherwise a cache may rely on a result of Poll for a PollInterval, and Poll itself may miss
	// commits that are not older than a PollInterval.
	IsRemote() bool
	// Check returns an error if a commit could be lost, for example because the file of the database was
	// replaced.
	Check(ctx context.Context) error
	// CheckIntegrity reads the whole database and returns its damage, one line each, which ends with the remedy. omitted says
	// what it cannot check, and why.
	CheckIntegrity(ctx context.Context) (damage []string, omitted string, err error)
	// CheckSynchronous returns an error, with a message for the operator, if a commit does not wait until a
	// standby has it, or if no standby is connected. An engine without standbys returns nil.
	CheckSynchronous(ctx context.Context) error
	// Failure returns what failed if the database caused err. The same statement may then succeed later. For
	// any other error it returns "".
	Failure(err error) Failure
	// Schema returns the schema that Open found or created.
	Schema() Schema
	// Pools returns the connection pools by name, for metrics.
	Pools() map[string]*sql.DB
	// Close closes all connections. It may be called again.
	Close() error
}

// PollInterval is a bit less than 50 ms: the API promises that a response from a SQLite store is at most 100 ms old. A cache
// may use a result of Poll for a PollInterval, and that result may be a PollInterval old.
const PollInterval = 45 * time.Millisecond

// A Query is a query for Begin, with the placeholders $1, $2 … in this order. Each row is scanned into Fields before
// Row is called.
type Query struct {
	Statement string
	Args      []any
	Fields    []any
	Row       func() error
}

// A Tx is a transaction on the connection that writes.
type Tx interface {
	gorm.ConnPool
	// State returns the state that Begin has read. No other transaction can change it.
	State() State
	// Queue runs a statement that writes, with the placeholders $1, $2 … in this order. A remote database may send it with
	// the next query or with the commit, which then returns its error.
	Queue(statement string, args ...any) error
	// Active returns an error if the database has rolled back the transaction by itself.
	Active() error
	// Failed reports whether a failed statement has aborted the transaction, so that it can only be rolled back.
	Failed() bool
	// Commit returns nil if the transaction is durable. A NotCommittedError means that it was rolled back because
	// of a statement. After any other error, the transaction may or may not be durable.
	Commit() error
	// Rollback rolls back the transaction. After Commit it does nothing.
	Rollback() error
}

// A NotCommittedError is the error of a statement that Tx.Commit has run, and that rolled back the transaction.
type NotCommittedError struct{ Err error }

// Error returns the text of Err.
func (e NotCommittedError) Error() string { return e.Err.Error() }

// Unwrap returns Err.
func (e NotCommittedError) Unwrap() error { return e.Err }
