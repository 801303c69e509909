package postgres

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"

	"example.com/petstore/repository/engine"
)

// Each connection that writes has the advisory lock of its store while it is open: shared
// with others, or exclusive. While a process has the exclusive lock, no other one can
// write, also not one that has been idle for long. The key is "pets" in ASCII and the oid of
// a table, because the locks are those of a database, which may have several stores.
const lockKey = "(1885697139::bigint << 32) | 'versions'::regclass::oid::bigint"

// exclusiveTimeout is how long to wait for the exclusive lock: the server may take a moment to
// notice that a process was killed.
const exclusiveTimeout = time.Second

var errCopying = errors.New("petstore copy is copying the store or copies to it: try again when that has ended")

// lockShared is a stdlib.OptionAfterConnect. It returns errCopying while another connection
// has the exclusive lock.
func lockShared(ctx context.Context, conn *pgx.Conn) error {
	err := lockStore(ctx, conn, "SELECT pg_advisory_lock_shared("+lockKey+")")
	if isLockTimeout(err) {
		return errCopying
	}
	return err
}

// lockExclusive is a stdlib.OptionAfterConnect. It returns engine.ErrInUse while another
// connection has the lock.
func lockExclusive(ctx context.Context, conn *pgx.Conn) error {
	err := lockStore(ctx, conn, fmt.Sprintf("BEGIN; SET LOCAL lock_timeout = %s; SELECT pg_advisory_lock(%s); COMMIT", millis(exclusiveTimeout), lockKey))
	if isLockTimeout(err) {
		return engine.ErrInUse
	}
	return err
}

func isLockTimeout(err error) bool {
	failure, ok := errors.AsType[*pgconn.PgError](err)
	return ok && failure.Code == "55P03" // lock_not_available
}

// lockStore runs a statement on a new connection, which it closes after an error.
func lockStore(ctx context.Context, conn *pgx.Conn, statement string) error {
	_, err := conn.PgConn().Exec(ctx, statement).ReadAll()
	if err != nil {
		_ = conn.Close(ctx)
	}
	return err
}
