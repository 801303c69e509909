package postgres

import (
	"cmp"
	"context"
	"database/sql"
	"database/sql/driver"
	"errors"
	"fmt"
	"io/fs"
	"net"
	"slices"
	"strconv"
	"strings"
	"sync/atomic"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/stdlib"
)

const (
	// connectTimeout is how long connecting to each host may take, unless the DSN says.
	connectTimeout = time.Second
	// lockTimeout is how long a statement waits for a lock, such as that of another process
	// that writes.
	lockTimeout = 5 * time.Second
	// txTimeout is how long a transaction may take, including its wait for the lock.
	txTimeout = 10 * time.Second
	// checkTimeout is how long PollChanges may take.
	checkTimeout = 5 * time.Second
	// idleTxTimeout is how long the server keeps the lock of a transaction whose process does
	// not send a statement, for example because its machine is suspended.
	idleTxTimeout = 2 * time.Second
	// lostTimeout is how long the server keeps the lock of a transaction whose process cannot
	// be reached.
	lostTimeout = 5 * time.Second
	// readerLifetime is how long a connection that reads is used. It bounds how long one to a
	// server that has become a standby is used.
	readerLifetime = time.Minute
)

var (
	errInvalidDSN = errors.New("the DSN is not a valid connection string: write it as postgres://user:password@host:5432/database?sslmode=verify-full, with special characters as %XX")
	errPooled     = errors.New("there is a connection pool such as PgBouncer before the server, which loses the locks and settings of a connection: name the server itself in the DSN")
	errReadOnly   = errors.New("the server is read-only, as a standby is: name the primary server, or all servers, as in host1,host2")
)

// fileErrors are the errors for files of a DSN that have the wrong content, by a text of
// pgconn's error.
var fileErrors = map[string]error{
	"unable to add CA to cert pool": errors.New("the sslrootcert of the DSN contains no certificate in PEM format: name another file"),
	"unable to load cert":           errors.New("the sslcert and sslkey of the DSN are not a certificate and its key in PEM format: name other files"),
	"failed to decode sslkey":       errors.New("the sslkey of the DSN contains no key in PEM format: name another file"),
	"unable to decrypt key":         errors.New("the sslkey of the DSN cannot be decrypted: correct its sslpassword"),
	"unable to find sslpassword":    errors.New("the sslkey of the DSN is encrypted: add its sslpassword"),
	"failed to read service":        errors.New("the service file cannot be read, or does not have the service of the DSN: correct service or servicefile"),
}

// parseDSN returns the configuration of connections. Its error has no part of the DSN, which
// may contain a password.
func parseDSN(dsn string) (*pgx.ConnConfig, error) {
	config, err := parse(dsn)
	if err != nil {
		return nil, err
	}
	config.ConnectTimeout = cmp.Or(config.ConnectTimeout, connectTimeout)
	config.ValidateConnect = checkConnection
	// Not as a default: settings of the user or of the database must not make the server convert texts.
	config.RuntimeParams["client_encoding"] = "UTF8"
	setDefaults(config.RuntimeParams, map[string]string{"application_name": "petstore"})
	return config, nil
}

// parse parses a DSN. It rejects a URL whose password contains a character that is not
// escaped: after an @ the rest would be taken for a host, after a / or ? for a database. It
// also rejects one that is not the whole DSN, as after a blank: pgx would take it for a keyword
// or a value, and send it to another server.
func parse(dsn string) (*pgx.ConnConfig, error) {
	if scheme, rest, isURL := strings.Cut(dsn, "://"); isURL {
		if scheme != "postgres" && scheme != "postgresql" || strings.Contains(rest, "://") {
			return nil, errInvalidDSN
		}
		authority, _, _ := strings.Cut(strings.ReplaceAll(rest, "?", "/"), "/")
		if strings.Contains(rest, "@") && !strings.Contains(authority, "@") {
			return nil, errInvalidDSN
		}
	}
	config, err := pgx.ParseConfig(dsn)
	if failure, ok := errors.AsType[*fs.PathError](err); ok && !strings.ContainsAny(failure.Path, "=&?@") { // which may be the rest of a mistyped DSN
		return nil, errFile(err, failure)
	}
	for text, failure := range fileErrors {
		if err != nil && strings.Contains(err.Error(), text) {
			return nil, failure
		}
	}
	if err != nil || strings.Contains(nameOfHosts(config), "@") {
		return nil, errInvalidDSN
	}
	return config, nil
}

// errFile returns the error for a file of the DSN that cannot be read. It does not wrap failure,
// which isConnectionError would take for an error of the network.
func errFile(err error, failure *fs.PathError) error {
	setting := "sslrootcert"
	for text, other := range map[string]string{"unable to read cert: ": "sslcert", "unable to read sslkey: ": "sslkey"} { // of pgconn
		if strings.Contains(err.Error(), text) {
			setting = other
		}
	}
	return fmt.Errorf("cannot read %s, the %s of the DSN: %s: correct the path, or let the user of petstore read it", failure.Path, setting, failure.Err.Error())
}

// checkConnection rejects a connection to a server that does not accept writes, so that the
// next host of the DSN is tried, and one to a pool, which sends a process id of its own.
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

// checkDurable is checkConnection, and rejects a server that could lose commits in a crash.
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

// setDefaults adds the elements of defaults to params, except those that it has.
func setDefaults(params, defaults map[string]string) {
	for name, value := range defaults {
		params[name] = cmp.Or(params[name], value)
	}
}

// nameOf returns the database and the hosts of a DSN, without user and password.
func nameOf(dsn string) string {
	config, err := parse(dsn)
	if err != nil {
		return "(invalid DSN)"
	}
	return fmt.Sprintf("%s on %s", cmp.Or(config.Database, config.User), nameOfHosts(config))
}

// nameOfHosts returns the hosts and ports of a configuration.
func nameOfHosts(config *pgx.ConnConfig) string {
	hosts := []string{hostPort(config.Host, config.Port)}
	for _, fallback := range config.Fallbacks {
		hosts = append(hosts, hostPort(fallback.Host, fallback.Port))
	}
	slices.Sort(hosts) // a host with TLS is listed again without it
	return strings.Join(slices.Compact(hosts), ",")
}

func hostPort(host string, port uint16) string {
	return net.JoinHostPort(host, strconv.Itoa(int(port)))
}

// openWriter returns the pool of the connection that writes, with the lock of the store.
func openWriter(config *pgx.ConnConfig, n *notices, exclusive bool) *sql.DB {
	writer, lock := config.Copy(), lockShared
	if exclusive {
		lock = lockExclusive
		for _, timeout := range []string{"idle_in_transaction_session_timeout", "tcp_user_timeout"} {
			writer.RuntimeParams[timeout] = "0" // nobody waits if it is suspended
		}
	}
	setDefaults(writer.RuntimeParams, map[string]string{
		"lock_timeout":                        millis(lockTimeout),
		"idle_in_transaction_session_timeout": millis(idleTxTimeout),
		"tcp_user_timeout":                    millis(lostTimeout),
		// The plan of a statement is reused. One that reads a small table completely would
		// still do so when the table has grown.
		"enable_seqscan": "off",
		"jit":            "off", // it would compile plans that cannot do without
	})
	// Not as a default: settings of the user or of the database must not hide the warning of a
	// commit that is not on the standby.
	writer.RuntimeParams["client_min_messages"] = "warning"
	writer.ValidateConnect = checkDurable
	writer.OnNotice = n.add
	pool := stdlib.OpenDB(*writer, stdlib.OptionAfterConnect(lock))
	pool.SetMaxOpenConns(1)
	pool.SetMaxIdleConns(1)
	return pool
}

// openChecker returns the pool of the connection of PollChanges. It is not pinged after a
// pause, because a lost connection is replaced anyway.
func openChecker(config *pgx.ConnConfig) *sql.DB {
	checker := config.Copy()
	setDefaults(checker.RuntimeParams, map[string]string{"lock_timeout": millis(lockTimeout)})
	pool := stdlib.OpenDB(*checker, stdlib.OptionShouldPing(func(context.Context, stdlib.ShouldPingParams) bool { return false }))
	pool.SetMaxOpenConns(1)
	pool.SetMaxIdleConns(1)
	return pool
}

// openReaders returns the pool of the connections that read. A connection is not used again
// after epoch has changed: it may be to a server that is no longer the primary one.
func openReaders(config *pgx.ConnConfig, size int, epoch *atomic.Uint64) *readers {
	const key = "epoch"
	reader := config.Copy()
	setDefaults(reader.RuntimeParams, map[string]string{"lock_timeout": millis(lockTimeout)})
	reader.RuntimeParams["idle_in_transaction_session_timeout"] = "0" // the snapshot of a copy is idle while the target is read
	pool := stdlib.OpenDB(
		*reader,
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
	pool.SetMaxOpenConns(size)
	pool.SetMaxIdleConns(size)
	pool.SetConnMaxLifetime(readerLifetime)
	return &readers{pool, size}
}

func millis(d time.Duration) string { return strconv.FormatInt(d.Milliseconds(), 10) }
