// Package postgrestest starts PostgreSQL servers for tests and for cmd/bench. The service does not import
// it.
package postgrestest

import (
	"context"
	"crypto/rand"
	"database/sql"
	"errors"
	"flag"
	"fmt"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	_ "github.com/jackc/pgx/v5/stdlib" // registers the driver pgx
	"golang.org/x/sys/unix"
)

// dsnVariable is the environment variable with the DSN of an existing server.
const dsnVariable = "PETSTORE_TEST_POSTGRES_DSN"

// A Server is a PostgreSQL server.
type Server struct {
	*cluster // nil for an existing server
	dsn      string
}

// Available reports whether there is a server for tests, or the programs to start one.
func Available() bool {
	_, err := findPrograms()
	return err == nil || os.Getenv(dsnVariable) != ""
}

// WithServer returns an m whose Run starts a server, or uses the server of PETSTORE_TEST_POSTGRES_DSN. Run sets
// *server, runs the tests and closes the server. It writes errors to stderr. If no server is available, *server
// stays nil, and tests that call NewDatabase are skipped.
func WithServer(m Tests, server **Server) Tests { return withServer{m, server} }

// Tests is a testing.M, or wraps one.
type Tests interface{ Run() int }

type withServer struct {
	Tests
	server **Server
}

func (m withServer) Run() (code int) {
	if !Available() {
		return m.Tests.Run()
	}
	s, err := &Server{dsn: os.Getenv(dsnVariable)}, error(nil)
	if s.dsn == "" {
		s, err = StartIn("", "shared_buffers=16MB", "autovacuum=off", "max_connections=300") // settings for many databases with few rows
	}
	if err == nil {
		// A store lets the server end a transaction that is idle for 2 s. On a busy machine, a test may take longer between
		// two statements.
		s.dsn = With(s.dsn, "idle_in_transaction_session_timeout", "60000")
		*m.server = s
		RunMoreInParallel()
		code = m.Tests.Run()
		err = s.Close()
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	return code
}

// RunMoreInParallel increases the flag -parallel, because the tests wait most of the time. It does nothing
// if the flag is given, or if the tests use an existing server, which may allow too few connections.
func RunMoreInParallel() {
	flag.Parse()
	if parallel := flag.Lookup("test.parallel").Value; os.Getenv(dsnVariable) == "" && parallel.String() == strconv.Itoa(runtime.GOMAXPROCS(0)) {
		_ = parallel.Set(strconv.Itoa(4 * runtime.GOMAXPROCS(0))) // cannot fail: it is a valid number
	}
}

// Start starts a server with its own cluster. The test may stop the server. The server and the cluster are
// removed when the test ends. settings are settings of postgresql.conf, as name=value. If PostgreSQL is not
// installed, Start skips the test.
func Start(t testing.TB, settings ...string) *Server {
	t.Helper()
	if _, err := findPrograms(); err != nil {
		t.Skip(err)
	}
	s, err := StartIn("", settings...)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	})
	return s
}

// StartIn starts a server with its own cluster in folder, or in the folder for temporary files if folder is
// empty. The caller must close it. The server also stops when the calling thread ends.
func StartIn(folder string, settings ...string) (_ *Server, err error) {
	programs, err := findPrograms()
	if err != nil {
		return nil, err
	}
	if folder == "" {
		folder = tempFolder()
	}
	folder, err = os.MkdirTemp(folder, "petstore-postgres-")
	if err != nil {
		return nil, err
	}
	c := &cluster{folder: folder, programs: programs, settings: settings}
	s := &Server{cluster: c, dsn: "host=" + folder + " user=postgres dbname=postgres connect_timeout=10"}
	defer func() {
		if err != nil {
			err = errors.Join(err, s.Close())
		}
	}()
	commands := []*exec.Cmd{
		c.command("initdb", "--pgdata="+c.data(), "--username=postgres", "--auth=trust", "--encoding=UTF8", "--locale=C", "--no-sync"),
	}
	if os.Geteuid() == 0 {
		commands = slices.Insert(commands, 0, exec.CommandContext(context.Background(), "chown", serverUser, folder))
	}
	for _, cmd := range commands {
		if output, err := cmd.CombinedOutput(); err != nil {
			return nil, fmt.Errorf("%v: %w\n%s", cmd, err, output)
		}
	}
	return s, c.Start()
}

// Close stops the server and removes its cluster. It leaves an existing server running.
func (s *Server) Close() error {
	if s.cluster == nil {
		return nil
	}
	return errors.Join(s.Stop(), os.RemoveAll(s.folder))
}

// NewDatabase creates a database and returns its DSN. On an existing server the database is dropped when
// the test ends. On any other server it is removed with the cluster, which takes less time. If there is no
// server, NewDatabase skips the test.
func (s *Server) NewDatabase(t testing.TB) (dsn string) {
	t.Helper()
	return s.NewCopy(t, "template0")
}

// NewCopy is NewDatabase with the contents of another database, whose name is name. No client may be connected to
// that other database.
func (s *Server) NewCopy(t testing.TB, name string) (dsn string) {
	t.Helper()
	if s == nil {
		t.Skip(errMissing)
	}
	created, drop, err := s.Create(t.Context(), name)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := drop(); err != nil {
			t.Error(err)
		}
	})
	return s.DSN(created)
}

// DSN returns the DSN of a database.
func (s *Server) DSN(name string) string { return With(s.dsn, "dbname", name) }

// Create creates a copy of a database and returns its name. The caller must call drop. drop does nothing if
// the database is removed with the cluster.
func (s *Server) Create(ctx context.Context, of string) (name string, drop func() error, err error) {
	name = "petstore_test_" + strings.ToLower(rand.Text())
	drop = func() error { return nil }
	if s.cluster == nil {
		drop = func() error { return s.Exec(context.Background(), "DROP DATABASE "+name+" WITH (FORCE)") }
	}
	return name, drop, s.Exec(ctx, "CREATE DATABASE "+name+" TEMPLATE "+of)
}

// Exec runs a statement as a superuser of the server, on a connection of its own.
func (s *Server) Exec(ctx context.Context, statement string) (err error) {
	db, err := sql.Open("pgx", s.dsn)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, db.Close()) }()
	_, err = db.ExecContext(ctx, statement)
	return err
}

// With returns dsn with another value for a keyword. dsn is a URL, or has keywords with values.
func With(dsn, keyword, value string) string {
	u, err := url.Parse(dsn)
	if err != nil || u.Scheme == "" {
		return dsn + " " + keyword + "=" + value
	}
	query := u.Query()
	query.Set(keyword, value)
	u.RawQuery = query.Encode()
	return u.String()
}

// A cluster is the data directory of a server, and its process. The server listens on a Unix socket in the
// folder of the cluster. It listens on TCP addresses only if settings has listen_addresses.
type cluster struct {
	folder   string
	programs string // the folder of initdb and postgres
	settings []string
	process  *exec.Cmd // nil while the server is stopped
	log      strings.Builder
}

// serverUser is the user that runs the server if root runs the tests: PostgreSQL refuses to run as root.
const serverUser = "postgres"

// tempFolder returns the folder for clusters, or "" for the default. It is in memory if 4 GiB are free
// there, because the tests otherwise wait for fsync most of the time.
func tempFolder() string {
	const memory = "/dev/shm"
	var stat unix.Statfs_t
	if os.Getenv("TMPDIR") == "" && unix.Statfs(memory, &stat) == nil && int64(stat.Bavail)*int64(stat.Bsize) >= 4<<30 {
		return memory
	}
	return ""
}

func (c *cluster) data() string { return filepath.Join(c.folder, "data") }

var errMissing = errors.New("PostgreSQL is not installed: run make deps, or let the tests use a server on which they may create databases with " +
	dsnVariable)

// findPrograms returns the folder of initdb and postgres. If Debian has installed some, it is the folder of the
// newest version. Otherwise it is the folder of the initdb in PATH.
func findPrograms() (string, error) {
	found, _ := filepath.Glob("/usr/lib/postgresql/*/bin/initdb") // fails only for an invalid pattern
	if len(found) > 0 {
		slices.Sort(found)
		return filepath.Dir(found[len(found)-1]), nil
	}
	path, err := exec.LookPath("initdb")
	if err != nil {
		return "", errMissing
	}
	return filepath.Dir(path), nil
}

// command returns a command that runs a program of PostgreSQL as the user of the server. If setpriv is
// installed, as on Linux, the process ends with the tests.
func (c *cluster) command(program string, args ...string) *exec.Cmd {
	args = append([]string{filepath.Join(c.programs, program)}, args...)
	if setpriv, err := exec.LookPath("setpriv"); err == nil {
		options := []string{setpriv, "--pdeathsig", "INT"}
		if os.Geteuid() == 0 {
			options = append(options, "--reuid", serverUser, "--regid", serverUser, "--clear-groups")
		}
		args = append(options, args...)
	}
	cmd := exec.CommandContext(context.Background(), args[0], args[1:]...)
	cmd.Dir = c.folder
	return cmd
}

// Start starts the server and waits until it accepts connections.
func (c *cluster) Start() error {
	args := []string{"-D", c.data(), "-k", c.folder, "-c", "listen_addresses="}
	for _, setting := range c.settings {
		args = append(args, "-c", setting)
	}
	server := c.command("postgres", args...)
	c.log.Reset()
	server.Stderr = &c.log
	if err := server.Start(); err != nil {
		return err
	}
	c.process = server
	return c.waitUntilReady()
}

// waitUntilReady waits until line 8 of postmaster.pid says that the server is ready.
func (c *cluster) waitUntilReady() error {
	for start := time.Now(); time.Since(start) < time.Minute; time.Sleep(5 * time.Millisecond) {
		status, _ := os.ReadFile(filepath.Join(c.data(), "postmaster.pid")) // the file does not exist at first
		if lines := strings.Split(string(status), "\n"); len(lines) > 7 && strings.TrimSpace(lines[7]) == "ready" {
			return nil
		}
	}
	return errors.Join(errors.New("the server did not start"), c.Stop(), errors.New(c.log.String()))
}

// PID returns the process id of the running server. The processes of its connections are its children.
func (c *cluster) PID() int { return c.process.Process.Pid }

// Stop closes all connections and stops the server. If the server is stopped already, it does nothing.
func (c *cluster) Stop() error {
	if c.process == nil {
		return nil
	}
	server := c.process
	c.process = nil
	_ = server.Process.Signal(syscall.SIGINT) // fails only if the server has exited
	return server.Wait()
}
