// Package engine says what package repository needs from a database. A database engine is a package, such
// as repository/sqlite, with a function New that returns an Engine. Package engine is not for embedders.
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
	// the Readers at a time. An existing store is not migrated. repository.Open rejects this option.
	Exclusive bool
}

// ErrInUse is the error of Open with Options.Exclusive while a process has the store open.
var ErrInUse = errors.New("a process has it open: stop the service and all petstore commands, then try again")

// UnfinishedCopyError returns the error for a store that petstore copy has begun to copy from source, and
// has not finished.
func UnfinishedCopyError(source string) error {
	return fmt.Errorf("it is an unfinished copy of %s: run the same petstore copy again, which begins anew, or use another store", source)
}

// A Schema is the schema of a store.
type Schema struct {
	Version  int64 // the number of the latest migration that was applied
	Previous int64 // the Version before Open migrated the store
	Created  bool  // whether Open created the store
	// OtherTables are the names of the tables of other programs in the same database, separated by commas.
	OtherTables string
}

// Tables are the names of the tables of a store, of all engines together, as a list for the operator IN of
// SQL. The database may have tables of other programs with other names.
const Tables = `('api_keys', 'changes', 'idempotency_keys', 'imports', 'orders', 'pet_counts', 'pet_totals', 'pets',
	'petstore_schema_version', 'recording', 'store_file', 'unfinished_copy', 'versions')`

// OtherTableError returns the error for a database in which another program has a table with a name of
// Tables.
func OtherTableError(table string) error {
	return fmt.Errorf("another program has a table %s in it, and a store needs one of that name: use another file or schema", table)
}

// SchemaVersion is the number of the newest migration of each engine.
const SchemaVersion = 8

// CheckSchemaVersion returns an error for a schema that is newer than this program supports. For an older
// schema it returns an error unless migrate is set. The error ends with the remedy.
func CheckSchemaVersion(current int64, migrate bool) error {
	switch {
	case current > SchemaVersion:
		return fmt.Errorf("wrong schema version: the store has %d, this program supports %d: use a newer petstore", current, SchemaVersion)
	case current < SchemaVersion && !migrate:
		return fmt.Errorf("wrong schema version: the store has %d, this program needs %d: run petstore migrate up", current, SchemaVersion)
	}
	return nil
}

// A Database is an open database. It is safe for concurrent use, with two limits. Only one goroutine at a
// time may call Begin and the methods of a Tx. Only one goroutine at a time may call PollChanges; another
// one may have a transaction meanwhile.
type Database interface {
	// Dialector returns GORM's dialector on a connection pool.
	Dialector(pool gorm.ConnPool) gorm.Dialector
	// Readers returns the pool of read-only connections.
	Readers() gorm.ConnPool
	// ReadContext returns the context for a query of a request with ctx. The query continues when the
	// client disconnects. The CancelFunc may interrupt it.
	ReadContext(ctx context.Context) (context.Context, context.CancelFunc)
	// Begin begins a transaction. Until it ends, no other connection and no other process can write. Begin
	// waits for other writers, for a limited time and until the deadline of ctx.
	Begin(ctx context.Context) (Tx, error)
	// PollChanges returns the kinds of changes that other processes have committed since the last call. An
	// engine that cannot tell the kinds apart, or does not know whether there were changes, returns
	// AllChanges.
	PollChanges(ctx context.Context) (Changes, error)
	// PollInterval returns how long a cache may rely on a result of PollChanges. PollChanges itself may
	// miss commits that are not older than a PollInterval. If PollInterval is zero, PollChanges is called
	// before each use of a cache. It then misses no commit, and also returns the changes of this process.
	PollInterval() time.Duration
	// Select returns the query for a request with ids, and its arguments, one for each ? of the query. The
	// query of a page reads only the first rows of each status, through an index that has them in the order
	// of the page.
	Select(rows Rows, ids []int64) (query string, args []any)
	// InsertPets inserts rows and sets their ids. The ids increase in the order of the rows.
	InsertPets(ctx context.Context, tx gorm.ConnPool, pets []Pet) error
	// FindClaims returns the claim for each of keys, found by Caller and Value, or nil if there is none.
	FindClaims(ctx context.Context, tx gorm.ConnPool, keys []Claim) ([]*Claim, error)
	// InsertClaims inserts rows. A row replaces a row with the same Caller and Value.
	InsertClaims(ctx context.Context, tx gorm.ConnPool, claims []Claim) error
	// Check returns an error if a commit could be lost, for example because the file of the database was
	// replaced.
	Check(ctx context.Context) error
	// CheckSynchronous returns an error, with a message for the operator, if a commit does not wait until a
	// standby has it, or if no standby is connected. An engine without standbys returns nil.
	CheckSynchronous(ctx context.Context) error
	// Failure returns what failed if the database caused err. The same statement may then succeed later. For
	// any other error it returns "".
	Failure(err error) Failure
	// LastID returns the greatest id that a row of a table has ever had, or zero. It reads from pool.
	LastID(ctx context.Context, pool gorm.ConnPool, table string) (int64, error)
	// SetLastID makes new rows of a table get ids greater than id. It writes in tx.
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
	// Failed reports whether a failed statement has aborted the transaction, so that it can only be rolled
	// back, completely or to a savepoint.
	Failed() bool
	// Commit returns nil if the transaction is durable. After an error, it may or may not be durable.
	// changes are the changes of the transaction. An engine may store them for PollChanges in other
	// processes.
	Commit(changes Changes) error
	// Rollback rolls back the transaction. After Commit it does nothing.
	Rollback() error
}

// Changes are the kinds of changes that transactions have committed. They tell caches which entries are
// stale.
type Changes struct {
	Added   bool // rows were inserted that lists contain
	Changed bool // rows were updated or deleted that lists contain
	Keys    bool // API keys were inserted or revoked
}

// AllChanges are all kinds of change.
var AllChanges = Changes{Added: true, Changed: true, Keys: true}
