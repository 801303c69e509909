// Package postgrestest starts PostgreSQL servers for tests and for cmd/bench. The service does
// not import it.
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

// dsnVariable is the environment variable that names an existing server.
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

// WithServer returns m with a server for all tests: Run opens *server, runs the tests and
// closes it. It reports an error on stderr. If no server is available, *server stays nil, and the
// tests that call NewDatabase are skipped.
func WithServer(m Tests, server **Server) Tests { return withServer{m, server} }

// Tests are a testing.M, or what wraps one.
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
		s, err = StartIn("", "shared_buffers=16MB", "autovacuum=off", "max_connections=300") // for many databases with few rows
	}
	if err == nil {
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

// RunMoreInParallel sets the flag -parallel for tests that wait most of the time, unless it is given
// or the tests use an existing server, which may have too few connections.
func RunMoreInParallel() {
	flag.Parse()
	if parallel := flag.Lookup("test.parallel").Value; os.Getenv(dsnVariable) == "" && parallel.String() == strconv.Itoa(runtime.GOMAXPROCS(0)) {
		_ = parallel.Set(strconv.Itoa(4 * runtime.GOMAXPROCS(0))) // is a valid number
	}
}

// Start starts a server with its own cluster, which the test may stop. Both are removed
// when the test ends. settings are those of postgresql.conf, as name=value. Without the programs of
// PostgreSQL it skips the test.
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

// StartIn starts a server with its own cluster in a folder, or in that for temporary files if it
// is empty. The caller must close it. It stops at the latest when the calling thread ends.
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

// NewDatabase creates a database and returns its DSN. On an existing server it is dropped
// when the test ends; otherwise it is removed with the cluster, which takes less time. Without a
// server it skips the test.
func (s *Server) NewDatabase(t testing.TB) (dsn string) {
	t.Helper()
	return s.NewCopy(t, "template0")
}

// NewCopy is NewDatabase with the contents of another database, to which nobody may be connected.
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

// Create creates a copy of a database and returns its name. The caller must call drop, which does nothing if the
// database is removed with the cluster.
func (s *Server) Create(ctx context.Context, of string) (name string, drop func() error, err error) {
	name = "petstore_test_" + strings.ToLower(rand.Text())
	drop = func() error { return nil }
	if s.cluster == nil {
		drop = func() error { return s.Exec(context.Background(), "DROP DATABASE "+name+" WITH (FORCE)") }
	}
	return name, drop, s.Exec(ctx, "CREATE DATABASE "+name+" TEMPLATE "+of)
}

// Exec runs a statement on a connection of its own, as a superuser of the server.
func (s *Server) Exec(ctx context.Context, statement string) (err error) {
	db, err := sql.Open("pgx", s.dsn)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, db.Close()) }()
	_, err = db.ExecContext(ctx, statement)
	return err
}

// With returns a DSN with another value of a keyword. The DSN is a URL, or has keywords with
// values.
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

// A cluster is the data directory of a server and its process. The server has one listener,
// a Unix socket in the folder of the cluster.
type cluster struct {
	folder   string
	programs string // the folder of initdb and postgres
	settings []string
	process  *exec.Cmd // nil while the server is stopped
	log      strings.Builder
}

// serverUser runs the server if the tests run as root, as which PostgreSQL refuses to run.
const serverUser = "postgres"

// tempFolder returns the folder for clusters, "" for the default: in memory if 4 GiB are free,
// because the tests wait for fsync most of the time.
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

// findPrograms returns the folder of initdb and postgres: of the newest version where
// Debian installs them, or in PATH.
func findPrograms() (string, error) {
	found, _ := filepath.Glob("/usr/lib/postgresql/*/bin/initdb") // fails only for a bad pattern
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

// command returns a command that runs a program of PostgreSQL as the user of the server. If there is setpriv, as on Linux, the
// process ends with the tests.
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

// waitUntilReady waits until postmaster.pid says that the server is ready, in its eighth
// line.
func (c *cluster) waitUntilReady() error {
	for start := time.Now(); time.Since(start) < 30*time.Second; time.Sleep(5 * time.Millisecond) {
		status, _ := os.ReadFile(filepath.Join(c.data(), "postmaster.pid")) // does not exist at first
		if lines := strings.Split(string(status), "\n"); len(lines) > 7 && strings.TrimSpace(lines[7]) == "ready" {
			return nil
		}
	}
	return errors.Join(errors.New("the server did not start"), c.Stop(), errors.New(c.log.String()))
}

// PID returns the id of the process of the running server. Those of its connections are its children.
func (c *cluster) PID() int { return c.process.Process.Pid }

// Stop closes all connections and stops the server. It does nothing if the server is stopped.
func (c *cluster) Stop() error {
	if c.process == nil {
		return nil
	}
	server := c.process
	c.process = nil
	_ = server.Process.Signal(syscall.SIGINT) // fails only after the server has exited
	return server.Wait()
}
