// Package faults injects faults into a running petstore: kills, power losses, failing disks,
// malicious clients, signals. With -short it takes less than two minutes.
// docs/reliability.md describes what it shows, with the figures that -v prints.
package faults

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"strconv"
	"strings"
	"testing"
	"time"

	"example.com/petstore/repository"
	"example.com/petstore/repository/sqlite"
	"example.com/petstore/test/harness"
	"example.com/petstore/test/ledger"
)

// pick returns short with -short, and else long.
func pick[T any](short, long T) T {
	if testing.Short() {
		return short
	}
	return long
}

// A server is a running petstore serve.
type server struct {
	*harness.Server
	folder string
	admin  string        // the URL of the admin listener
	ready  time.Duration // from the start of the process until /readyz was 200
}

// start starts a server in a folder, with additional environment variables, and waits until it is
// ready. key is that of an earlier server on the store. The process is killed when the test ends.
func start(t *testing.T, folder, key string, environ ...string) *server {
	t.Helper()
	admin := harness.FreeAddress(t)
	cmd := harness.Command(context.WithoutCancel(t.Context()), folder, "serve", "--first-key", "--set", "admin.address="+admin, "--set", "log.level=warn")
	cmd.Env = append(cmd.Env, environ...)
	begun := time.Now()
	s := &server{Server: harness.StartCommand(t, cmd), folder: folder, admin: "http://" + admin}
	if key != "" {
		s.Key = key
	}
	harness.EventuallyWithin(t, 30*time.Second, "the server is ready", func() bool { return s.IsReady(t.Context()) })
	s.ready = time.Since(begun)
	return s
}

// clients returns clients of the server.
func (s *server) clients(l *ledger.Ledger) *ledger.Clients { return ledger.NewClients(l, s.URL, s.Key) }

// wantSales expects that clients can sell.
func (s *server) wantSales(t *testing.T, l *ledger.Ledger, clients int) {
	t.Helper()
	if s.clients(l).During(t.Context(), 300*time.Millisecond, clients) == 0 {
		t.Errorf("no animal was sold: %s", s.Log)
	}
}

// stop stops the server and compares its store with the ledger, after the requests whose outcome is
// unknown were repeated.
func (s *server) stop(t *testing.T, l *ledger.Ledger) {
	t.Helper()
	s.clients(l).Retry(t.Context())
	s.Stop(t)
	wantStore(t, s.folder, l)
}

// wantStore expects that the store in a folder, which no server uses, agrees with the ledger, in
// which something was acknowledged.
func wantStore(t *testing.T, folder string, l *ledger.Ledger) {
	t.Helper()
	if l.Counts().Acknowledged == 0 {
		t.Errorf("got %v, want some acknowledged", l)
	}
	differences, err := compare(t.Context(), harness.StorePath(folder), l, ledger.AtTheEnd)
	if err := errors.Join(err, differences.Err()); err != nil {
		t.Error(err)
	}
}

// compare opens a store as the service does, and compares it with the ledger as it must be at a time. It
// returns an error for a store that does not pass SQLite's checks.
func compare(ctx context.Context, path string, l *ledger.Ledger, at int64) (d ledger.Differences, err error) {
	if err := checkIntegrity(ctx, path); err != nil {
		return d, err
	}
	db, err := sql.Open("sqlite3", "file:"+path+"?mode=rw&_busy_timeout=5000")
	if err != nil {
		return d, err
	}
	defer func() { err = errors.Join(err, db.Close()) }()
	return l.Check(ctx, db, at, at)
}

// checkIntegrity opens a store as the service does, and returns what SQLite's checks find.
func checkIntegrity(ctx context.Context, path string) (err error) {
	store, err := repository.Open(ctx, sqlite.New(path), repository.Options{MustExist: true})
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, store.Close()) }()
	db, err := sql.Open("sqlite3", "file:"+path+"?mode=rw&_busy_timeout=5000")
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, db.Close()) }()
	var found string
	var violations int
	err = db.QueryRowContext(ctx, "SELECT integrity_check, (SELECT count(*) FROM pragma_foreign_key_check) FROM pragma_integrity_check").Scan(&found, &violations)
	if err == nil && (found != "ok" || violations != 0) {
		err = fmt.Errorf("integrity_check: %s; %d violations of foreign keys", found, violations)
	}
	return err
}

// createKey creates an API key in the store in a folder.
func createKey(t *testing.T, folder string) string {
	t.Helper()
	return harness.PrintedKey(t, folder, "create", "--name", "faults")
}

// resources are what a server uses.
type resources struct {
	memory, heap, goroutines, descriptors, wal float64 // memory, the heap of Go and the WAL in MiB
}

// resources reads the metrics of the server.
func (s *server) resources(t *testing.T) (r resources) {
	t.Helper()
	_, text := harness.Get(t, s.admin+"/metrics")
	for name, value := range map[string]*float64{
		"process_resident_memory_bytes": &r.memory, "go_memstats_heap_inuse_bytes": &r.heap, "go_goroutines": &r.goroutines, "process_open_fds": &r.descriptors,
	} {
		_, rest, _ := strings.Cut(text, "\n"+name+" ")
		number, _, _ := strings.Cut(rest, "\n")
		var err error
		if *value, err = strconv.ParseFloat(number, 64); err != nil {
			t.Fatalf("the metric %s: %v", name, err)
		}
	}
	info, err := os.Stat(harness.StorePath(s.folder) + "-wal")
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		t.Fatal(err)
	}
	if err == nil {
		r.wal = float64(info.Size()) / (1 << 20)
	}
	r.memory /= 1 << 20
	r.heap /= 1 << 20
	return r
}

// resourcesWithin waits until the server uses as many goroutines and descriptors as before.
func (s *server) resourcesWithin(t *testing.T, before resources) (after resources) {
	t.Helper()
	harness.Client.CloseIdleConnections()
	harness.EventuallyWithin(t, time.Minute, fmt.Sprintf("the server uses no more than %+v", before), func() bool {
		after = s.resources(t)
		return after.goroutines <= before.goroutines+10 && after.descriptors <= before.descriptors+10
	})
	return after
}
