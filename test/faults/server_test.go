// Package faults injects faults into a running petstore: kills, power losses, failing disks, malicious
// clients, signals. With -short it takes less than two minutes. docs/reliability.md describes the results.
// -v prints their figures.
package faults

import (
	"cmp"
	"context"
	"database/sql"
	"errors"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"example.com/petstore/internal/engine"
	"example.com/petstore/internal/test/testkit"
	"example.com/petstore/repository"
	"example.com/petstore/repository/sqlite"
	"example.com/petstore/test/harness"
	"example.com/petstore/test/linearizability"
)

// pick returns short with -short, and otherwise long.
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
	ready  time.Duration // how long the process took until /readyz was 200
}

// start starts a server in a folder, with additional environment variables, and waits until it is ready.
// From then on its log has no requests. key is the key of an earlier server on the store, or "". The
// process is killed when the test ends.
func start(t *testing.T, folder, key string, environ ...string) *server {
	t.Helper()
	cmd := harness.Command(context.WithoutCancel(t.Context()), folder, "serve", "--first-key", "--set", "admin.address=127.0.0.1:0")
	cmd.Env = append(cmd.Env, environ...)
	begun := time.Now()
	s := &server{Server: harness.StartCommand(t, cmd), folder: folder}
	if key != "" {
		s.Key = key
	}
	testkit.WaitUntilWithin(t, 30*time.Second, "the server is ready", func() bool { return s.IsReady(t.Context()) })
	s.ready = time.Since(begun)
	s.admin = s.AdminURL(t)
	quiet, err := http.NewRequestWithContext(t.Context(), http.MethodPut, s.admin+"/log/level", strings.NewReader(`{"level":"warn"}`))
	testkit.Check(t, err)
	status, body, err := harness.Send(harness.Client, quiet)
	testkit.Check(t, err)
	if status != http.StatusOK {
		t.Fatalf("the log level: got %d %s, want 200", status, body)
	}
	return s
}

// A load is a group of clients, with the history of the responses of one server after the other.
type load struct {
	linearizability.Clients
	url atomic.Pointer[string]
}

func newLoad(t *testing.T) *load {
	t.Helper()
	l := &load{}
	l.History, l.Seed = linearizability.NewHistory(), harness.Rand(t).Uint64()
	l.URLs = []func() string{func() string { return *l.url.Load() }}
	return l
}

// to makes the load send its next requests to a server, and returns the load.
func (l *load) to(s *server) *load {
	l.url.Store(&s.URL)
	l.Keys = []string{s.Key}
	return l
}

// startReading starts n clients that list, and pause after each response, until stop is called.
func (l *load) startReading(t *testing.T, n int, pause time.Duration) (stop func()) {
	t.Helper()
	readers := &linearizability.Clients{History: l.History, URLs: l.URLs, Keys: l.Keys, Seed: l.Seed, Pause: pause, OnlyLists: true}
	return readers.Start(t.Context(), n)
}

// wantWrites expects that clients can write.
func (s *server) wantWrites(t *testing.T, l *load, clients int) {
	t.Helper()
	if len(l.to(s).During(t.Context(), 300*time.Millisecond, clients)) == 0 {
		t.Errorf("no write was acknowledged: %s", s.Log)
	}
}

// stop stops the server and compares its store with the history.
func (s *server) stop(t *testing.T, l *load) {
	t.Helper()
	s.Stop(t)
	wantStore(t, s.folder, l, linearizability.AtTheEnd)
}

// wantStore expects that the history up to a time may have produced the store in a folder. No server may use
// the store. The history must have an acknowledged write.
func wantStore(t *testing.T, folder string, l *load, at int64) {
	t.Helper()
	if len(l.History.Since(time.Time{}).Acknowledged(false)) == 0 {
		t.Errorf("got %v, want some writes acknowledged", l.History)
	}
	problems, err := compare(t.Context(), harness.StorePath(folder), l, at)
	if err := errors.Join(append(problems, err)...); err != nil {
		t.Error(err)
	}
}

// compare opens a store as the service does, and compares it with the history up to a time. If the store
// does not pass the checks of SQLite, it returns an error.
func compare(ctx context.Context, path string, l *load, at int64) (problems []error, err error) {
	store, err := repository.Open(ctx, sqlite.New(path), repository.Options{Options: engine.Options{NoMigration: true}})
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, store.Close()) }()
	db, err := sql.Open("sqlite3", "file:"+path+"?mode=rw&_busy_timeout=5000")
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, db.Close()) }()
	var found string
	var violations int
	const query = "SELECT integrity_check, (SELECT count(*) FROM pragma_foreign_key_check) FROM pragma_integrity_check"
	err = db.QueryRowContext(ctx, query).Scan(&found, &violations)
	if err == nil && (found != "ok" || violations != 0) {
		err = fmt.Errorf("integrity_check: %s; %d violations of foreign keys", found, violations)
	}
	if err != nil {
		return nil, err
	}
	page, err := filepath.Abs("../../bin/linearizability/stored.txt")
	if err != nil {
		return nil, err
	}
	return l.History.CheckStored(ctx, db, at, at, page)
}

// The names of the resources of a server.
const (
	memory, heap, wal       = "resident memory in MiB", "heap of Go in MiB", "WAL in MiB"
	goroutines, descriptors = "goroutines", "descriptors"
)

// resources returns the resources that the server uses, by name.
func (s *server) resources(t *testing.T) map[string]float64 {
	t.Helper()
	info, err := os.Stat(harness.StorePath(s.folder) + "-wal")
	testkit.Check(t, err)
	used := map[string]float64{wal: float64(info.Size()) / (1 << 20)}
	_, text := harness.Get(t, s.admin+"/metrics")
	for name, metric := range map[string]string{
		memory: "process_resident_memory_bytes", heap: "go_memstats_heap_inuse_bytes", goroutines: "go_goroutines", descriptors: "process_open_fds",
	} {
		_, rest, _ := strings.Cut(text, "\n"+metric+" ")
		number, _, _ := strings.Cut(rest, "\n")
		value, err := strconv.ParseFloat(number, 64)
		testkit.Check(t, err)
		if strings.HasSuffix(name, " in MiB") {
			value /= 1 << 20
		}
		used[name] = value
	}
	return used
}

// resourcesWithin waits until the server uses at most 10 goroutines and 10 descriptors more than before. It
// returns what the server uses then.
func (s *server) resourcesWithin(t *testing.T, before map[string]float64) (after map[string]float64) {
	t.Helper()
	harness.Client.CloseIdleConnections()
	testkit.WaitUntilWithin(t, time.Minute, fmt.Sprintf("the server uses no more than %v", before), func() bool {
		after = s.resources(t)
		return after[goroutines] <= before[goroutines]+10 && after[descriptors] <= before[descriptors]+10
	})
	return after
}

// median returns the middle one of the sorted values, or the greater of two.
func median[T cmp.Ordered](values []T) T {
	sorted := slices.Sorted(slices.Values(values))
	return sorted[len(sorted)/2]
}
