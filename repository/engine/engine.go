// Package engine says what a database must offer to package repository. A database engine is
// a package with a function New that returns an Engine, such as repository/sqlite.
// It is not for embedders.
package engine

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"time"

	"gorm.io/gorm"
)

// An Engine opens the database of a store. Its package is the only one that imports the
// driver of the database.
type Engine interface {
	// String returns the name of the database for errors and logs, without a secret.
	String() string
	// Open connects to the database. It does not change a database that it rejects. Its error is one
	// line that ends with the remedy.
	Open(ctx context.Context, o Options) (Database, error)
	// Remedy returns an error that the database caused as one line with the cause and, for
	// known causes, the remedy.
	Remedy(err error) error
}

// Options are the options of Engine.Open. Those of repository.Open include them.
type Options struct {
	// NoMigration makes Open reject a store that does not exist or has an older schema, instead of creating
	// it or migrating its schema.
	NoMigration bool
	// MaxOpenConns is the number of connections that read. repository.Open uses 4 when zero.
	MaxOpenConns int
	// RequireSynchronous makes transactions and Check fail while a commit would not wait for a standby of a
	// PostgreSQL server. Open succeeds.
	RequireSynchronous bool
	// Exclusive makes Open return an ErrInUse while a process has the store open, and keeps
	// others from opening it, or at least from writing to it, until Close. There is then one
	// connection, for the transactions and the Readers, and only one of them at a time. An
	// existing store is not migrated. repository.Open rejects it.
	Exclusive bool
}

// ErrInUse is the error of Open with Options.Exclusive while a process has the store open.
var ErrInUse = errors.New("a process has it open: stop the service and all petstore commands, then try again")

// UnfinishedCopyError returns the error for a store into which petstore copy has not copied all of
// the store source yet.
func UnfinishedCopyError(source string) error {
	return fmt.Errorf("it is an unfinished copy of %s: run the same petstore copy again, which begins anew, or use another store", source)
}

// A Schema is the schema of a store.
type Schema struct {
	Version  int64 // the number of its latest migration
	Previous int64 // the same before this Open
	Created  bool  // by this Open
	// OtherTables are the names of the tables of other programs in the same database, with commas between.
	OtherTables string
}

// Tables are the names that the tables of a store have on some engine, for the operator IN of SQL. Tables of
// other programs may be beside them with other names.
const Tables = `('api_keys', 'changes', 'idempotency_keys', 'imports', 'orders', 'pet_counts', 'pet_totals', 'pets',
	'petstore_schema_version', 'recording', 'unfinished_copy', 'versions')`

// OtherTableError returns the error for a table of another program that has a name of Tables.
func OtherTableError(table string) error {
	return fmt.Errorf("another program has a table %s in it, and a store needs one of that name: use another file or schema", table)
}

// SchemaVersion is the number of the newest migration of each engine.
const SchemaVersion = 8

// CheckSchemaVersion returns an error for a schema that is newer than this program
// supports, or older if it must not be migrated. Its error ends with the remedy.
func CheckSchemaVersion(current int64, migrate bool) error {
	switch {
	case current > SchemaVersion:
		return fmt.Errorf("wrong schema version: the store has %d, this program supports %d: use a newer petstore", current, SchemaVersion)
	case current < SchemaVersion && !migrate:
		return fmt.Errorf("wrong schema version: the store has %d, this program needs %d: run petstore migrate up", current, SchemaVersion)
	}
	return nil
}

// A Database is an open database. It is safe for concurrent use, but one goroutine at a time calls Begin
// and the methods of a Tx, and one calls PollChanges, also during a transaction.
type Database interface {
	// Dialector returns GORM's dialector on a connection pool.
	Dialector(pool gorm.ConnPool) gorm.Dialector
	// Readers returns the pool of read-only connections.
	Readers() gorm.ConnPool
	// ReadContext returns the context of a query for a request with ctx. The query is not
	// interrupted when the client disconnects. The CancelFunc may interrupt it.
	ReadContext(ctx context.Context) (context.Context, context.CancelFunc)
	// Begin starts a transaction. Until it ends, no other connection and no other process
	// can write. Begin waits for other writers, for a limited time and until the deadline of ctx.
	Begin(ctx context.Context) (Tx, error)
	// PollChanges returns the changes that other processes have committed since the last call. An
	// engine that cannot distinguish them, or does not know, returns all.
	PollChanges(ctx context.Context) (Changes, error)
	// PollInterval returns how long a cache may use what PollChanges has returned, which may miss
	// the commits of the same time before the call. If it is zero, PollChanges is called before each use of a
	// cache, misses nothing, and also returns the changes of this process.
	PollInterval() time.Duration
	// Select returns the query, with a ? for each of its arguments, that selects the columns of the rows of a
	// request. The query of a page reads only the first rows of each status, which are in the order of an index.
	Select(rows Rows, ids []int64) (query string, args []any)
	// InsertPets inserts rows and sets their ids, which increase in the order of the rows.
	InsertPets(ctx context.Context, tx gorm.ConnPool, pets []Pet) error
	// FindClaims returns the claims with the Caller and the Value of each of keys, nil for a key
	// without a claim.
	FindClaims(ctx context.Context, tx gorm.ConnPool, keys []Claim) ([]*Claim, error)
	// InsertClaims inserts rows. A row replaces the one with the same Caller and Value.
	InsertClaims(ctx context.Context, tx gorm.ConnPool, claims []Claim) error
	// Check returns an error if a commit could be lost, such as when the file of the
	// database was replaced.
	Check(ctx context.Context) error
	// CheckSynchronous returns an error if a commit does not wait until a standby has it, or
	// if there is no standby to wait for. Its message is for the operator. An engine without
	// standbys returns nil.
	CheckSynchronous(ctx context.Context) error
	// Failure returns what failed if the database caused err: the same statement may succeed
	// later. It returns "" for any other error.
	Failure(err error) Failure
	// LastID returns the greatest id that a row of a table has ever had, zero for none. It
	// reads on pool.
	LastID(ctx context.Context, pool gorm.ConnPool, table string) (int64, error)
	// SetLastID makes the ids of new rows of a table continue after id. It writes on tx.
	SetLastID(ctx context.Context, tx Tx, table string, id int64) error
	// Schema returns the schema that Open found or created.
	Schema() Schema
	// Pools returns the connection pools by name, for metrics.
	Pools() map[string]*sql.DB
	// Close closes all connections. It may be called again.
	Close() error
}

// A Tx is a transaction on the connection that writes.
type Tx interface {
	gorm.ConnPool
	// Active returns an error if the database has rolled back the transaction by itself.
	Active() error
	// Failed reports whether a statement has failed in such a way that the transaction can
	// only be rolled back, at least to a savepoint.
	Failed() bool
	// Commit returns nil once the transaction is durable. After an error it may or may not
	// be durable. changes are those of the transaction, for an engine that stores them for
	// the PollChanges of other processes.
	Commit(changes Changes) error
	// Rollback does nothing after a Commit.
	Rollback() error
}

// Changes are kinds of change that transactions have committed, by which caches find out
// what is stale.
type Changes struct {
	Added   bool // records of lists were inserted
	Changed bool // records of lists were updated or removed
	Keys    bool // API keys were inserted or updated
}

// AllChanges are all kinds of change.
var AllChanges = Changes{Added: true, Changed: true, Keys: true}
