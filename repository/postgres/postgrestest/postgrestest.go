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
	"runtime"
	"strconv"
	"strings"
	"testing"

	_ "github.com/jackc/pgx/v5/stdlib" // registers the driver pgx
)

// dsnVariable is the environment variable that names an existing server.
const dsnVariable = "PETSTORE_TEST_POSTGRES_DSN"

// A Server is a PostgreSQL server.
type Server struct {
	*cluster // nil for an existing server
	dsn      string
}

// open returns the existing server that PETSTORE_TEST_POSTGRES_DSN names, or else starts
// one with its own cluster. The caller must close it.
func open() (*Server, error) {
	if dsn := os.Getenv(dsnVariable); dsn != "" {
		return &Server{dsn: dsn}, nil
	}
	return StartIn("", "shared_buffers=16MB", "autovacuum=off", "max_connections=300") // for many databases with few rows
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
	s, err := open()
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	defer func() {
		if err := s.Close(); err != nil {
			fmt.Fprintln(os.Stderr, err)
			code = 1
		}
	}()
	*m.server = s
	RunMoreInParallel()
	return m.Tests.Run()
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
func StartIn(folder string, settings ...string) (*Server, error) {
	c, err := newCluster(folder, settings)
	if err != nil {
		return nil, err
	}
	return &Server{cluster: c, dsn: "host=" + c.folder + " user=postgres dbname=postgres connect_timeout=10"}, nil
}

// Close stops the server and removes its cluster. It leaves an existing server running.
func (s *Server) Close() error {
	if s.cluster == nil {
		return nil
	}
	return s.remove()
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
