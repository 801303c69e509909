package postgres

import (
	"cmp"
	"context"
	"database/sql"
	"database/sql/driver"
	"errors"
	"fmt"
	"strconv"
	"sync/atomic"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/stdlib"

	"example.com/petstore/internal/engine"
)

const (
	// connectTimeout is how long connecting to each host may take, unless the DSN sets connect_timeout.
	connectTimeout = time.Second
	// lockTimeout is how long a statement waits for a lock, such as the lock of another process that
	// writes.
	lockTimeout = 5 * time.Second
	// exclusiveTimeout is how long to wait for the exclusive lock. The server may take a moment to notice
	// that a process was killed.
	exclusiveTimeout = time.Second
	// txTimeout is how long a transaction may take, including its wait for the lock.
	txTimeout = 10 * time.Second
	// idleTxTimeout is how long the server keeps the lock of a transaction while its process sends no
	// statement, for example because its machine is suspended.
	idleTxTimeout = 2 * time.Second
	// lostTimeout is how long the server keeps the lock of a transaction whose process it cannot reach.
	lostTimeout = 5 * time.Second
	// readerLifetime is how long a connection that reads is used. It limits how long a connection to a
	// server that has become a standby is used.
	readerLifetime = time.Minute
)

var (
	errPooled = errors.New("there is a connection pool such as PgBouncer before the server, which loses the locks and settings of a " +
		"connection: name the server itself in the DSN")
	errCopying  = errors.New("petstore copy is copying the store or copies to it: try again when that has ended")
	errReadOnly = errors.New("the server is read-only, as a standby is: name the primary server, or all servers, as in host1,host2")
)

// checkConnection rejects a connection to a server that does not accept writes, so that the next host of
// the DSN is tried. It also rejects a connection to a connection pool, which sends a process id of its own.
func checkConnection(ctx context.Context, conn *pgconn.PgConn) error {
	results, err := conn.Exec(ctx, "SELECT pg_backend_pid(); SHOW transaction_read_only").ReadAll()
	if err != nil {
		return err
	}
	if string(results[0].Rows[0][0]) != strconv.FormatUint(uint64(conn.PID()), 10) {
		return errPooled
	}
	if string(results[1].Rows[0][0]) == "on" {
		return errReadOnly
	}
	return nil
}

// checkDurable is checkConnection, and also rejects a server that could lose commits in a crash.
func checkDurable(ctx context.Context, conn *pgconn.PgConn) error {
	results, err := conn.Exec(ctx, "SHOW fsync; SHOW full_page_writes").ReadAll()
	if err != nil {
		return err
	}
	if fsync, writes := string(results[0].Rows[0][0]), string(results[1].Rows[0][0]); fsync != "on" || writes != "on" {
		return errNotDurable(fsync, writes)
	}
	return checkConnection(ctx, conn)
}

func errNotDurable(fsync, fullPageWrites string) error {
	return fmt.Errorf("fsync is %s and full_page_writes is %s, commits could be lost: set both to on", fsync, fullPageWrites)
}

// openWriter returns the pool of the connection that writes. The connection has the lock of the store.
func openWriter(config *pgx.ConnConfig, n *notices, exclusive bool) *sql.DB {
	writer, lock := config.Copy(), lockStore("SELECT pg_advisory_lock_shared("+lockKey+")", errCopying)
	if exclusive {
		const exclusively = "BEGIN; SET LOCAL lock_timeout = %s; SELECT pg_advisory_lock(%s); COMMIT"
		lock = lockStore(fmt.Sprintf(exclusively, millis(exclusiveTimeout), lockKey), engine.ErrInUse)
		for _, timeout := range []string{"idle_in_transaction_session_timeout", "tcp_user_timeout"} {
			writer.RuntimeParams[timeout] = "0" // a suspended copy may keep its lock: no service runs meanwhile
		}
	}
	setDefaults(writer.RuntimeParams, map[string]string{
		"lock_timeout":                        millis(lockTimeout),
		"idle_in_transaction_session_timeout": millis(idleTxTimeout),
		"tcp_user_timeout":                    millis(lostTimeout),
		// The plan of a statement is reused. A plan that reads a small table completely would still do so
		// when the table has grown.
		"enable_seqscan": "off",
		"jit":            "off", // it would compile the plans that must read a table completely
	})
	// This is set, not a default: settings of the user or of the database must not hide the warning that a
	// commit is not on the standby.
	writer.RuntimeParams["client_min_messages"] = "warning"
	writer.ValidateConnect = checkDurable
	writer.OnNotice = n.add
	return openPool(writer, 1, stdlib.OptionAfterConnect(lock))
}

// openChecker returns the pool of the connection of Poll.
func openChecker(config *pgx.ConnConfig) *sql.DB {
	checker := config.Copy()
	setDefaults(checker.RuntimeParams, map[string]string{"lock_timeout": millis(lockTimeout)})
	return openPool(checker, 1)
}

// openReaders returns the pool of the connections that read. After epoch has changed, a connection is not
// used again, because its server may no longer be the primary one.
func openReaders(config *pgx.ConnConfig, size int, epoch *atomic.Uint64) *readerPool {
	const key = "epoch"
	reader := config.Copy()
	setDefaults(reader.RuntimeParams, map[string]string{"lock_timeout": millis(lockTimeout)})
	reader.RuntimeParams["idle_in_transaction_session_timeout"] = "0" // the transaction of petstore copy is idle while the target is read
	pool := openPool(
		reader, size,
		stdlib.OptionBeforeConnect(func(_ context.Context, c *pgx.ConnConfig) error {
			before := epoch.Load()
			c.AfterConnect = func(_ context.Context, conn *pgconn.PgConn) error {
				conn.CustomData()[key] = before
				return nil
			}
			return nil
		}),
		stdlib.OptionAfterConnect(func(ctx context.Context, conn *pgx.Conn) error {
			_, err := conn.Exec(ctx, "SET SESSION CHARACTERISTICS AS TRANSACTION READ ONLY")
			return err
		}),
		stdlib.OptionResetSession(func(_ context.Context, conn *pgx.Conn) error {
			if conn.PgConn().CustomData()[key] != epoch.Load() {
				return driver.ErrBadConn
			}
			return nil
		}),
	)
	pool.SetConnMaxLifetime(readerLifetime)
	return &readerPool{pool, size, epoch}
}

// openPool returns a pool of at most size connections. It keeps all of them open. A connection is not pinged after a pause,
// which would be a round trip: Begin, Poll and the readers replace a connection that was lost.
func openPool(config *pgx.ConnConfig, size int, options ...stdlib.OptionOpenDB) *sql.DB {
	options = append(options, stdlib.OptionShouldPing(func(context.Context, stdlib.ShouldPingParams) bool { return false }))
	pool := sql.OpenDB(connector{stdlib.GetConnector(*config, options...)})
	pool.SetMaxOpenConns(size)
	pool.SetMaxIdleConns(size)
	return pool
}

// A connector is a driver.Connector whose errors contain no secret of the DSN.
type connector struct{ driver.Connector }

// Connect implements driver.Connector. Its error is a connectError.
func (c connector) Connect(ctx context.Context) (driver.Conn, error) {
	conn, err := c.Connector.Connect(ctx)
	if err != nil {
		return nil, connectError{err}
	}
	return conn, nil
}

// setDefaults adds the elements of defaults that params does not have.
func setDefaults(params, defaults map[string]string) {
	for name, value := range defaults {
		params[name] = cmp.Or(params[name], value)
	}
}

func millis(d time.Duration) string { return strconv.FormatInt(d.Milliseconds(), 10) }

// A readerPool is the pool of the connections that read. When the server closes one connection, it has probably
// closed all. So a readerPool then closes the idle ones and runs the query again.
type readerPool struct {
	*sql.DB
	size  int
	epoch *atomic.Uint64 // see openReaders
}

// QueryContext implements gorm.ConnPool.
func (r *readerPool) QueryContext(ctx context.Context, statement string, args ...any) (*sql.Rows, error) {
	rows, err := r.DB.QueryContext(ctx, statement, args...)
	if isOutdated(err) {
		r.epoch.Add(1) // so that new connections are used
		return r.DB.QueryContext(ctx, statement, args...)
	}
	if isLost(err) && ctx.Err() == nil {
		r.SetMaxIdleConns(0)
		r.SetMaxIdleConns(r.size)
		return r.DB.QueryContext(ctx, statement, args...)
	}
	return rows, err
}

// lockKey is the key of the advisory lock of a store. Each connection that writes has the lock while it is
// open, either shared or exclusive. While a process has the exclusive lock, no other process can write, not
// even one that has been idle for long. The key is made of "pets" in ASCII and the oid of a table, because
// advisory locks are per database, and a database may have several stores.
const lockKey = "(1885697139::bigint << 32) | 'store'::regclass::oid::bigint"

// lockStore returns a stdlib.OptionAfterConnect that takes the lock with a statement. If another connection
// keeps the lock for too long, it returns errHeld.
func lockStore(statement string, errHeld error) func(context.Context, *pgx.Conn) error {
	return func(ctx context.Context, conn *pgx.Conn) error {
		_, err := conn.PgConn().Exec(ctx, statement).ReadAll()
		if err == nil {
			return nil
		}
		_ = conn.Close(ctx)
		if failureOf(err) == engine.FailureBusy {
			return errHeld
		}
		return err
	}
}
