package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"time"

	"example.com/petstore/internal/test/postgrestest"
)

// A server is a running program. The caller must stop it.
type server struct {
	store
	label string
	pid   int
	host  string // the host and port
	admin string // the host and port of its profiles, if a flag needs them
	stop  func()
}

// start starts a program as a server of a row, with a store of its own.
func (b *bench) start(ctx context.Context, r row, p program) (*server, error) {
	b.started++
	var errs [3]error
	s := &server{label: p.label}
	s.store, errs[0] = b.newStore(ctx, r.store, cmp.Or(p.petstore, b.petstore))
	s.host, errs[1] = freeAddress(ctx)
	s.admin, errs[2] = freeAddress(ctx)
	if err := errors.Join(errs[:]...); err != nil {
		return nil, err
	}
	argv := []string{p.petstore, "serve"}
	settings := slices.Concat(s.settings(), []string{"server.address=" + s.host, "admin.address=" + s.admin}, p.settings)
	if b.profiled() {
		settings = append(settings, "admin.address="+s.admin) // the last setting with a name applies
	}
	for _, setting := range settings {
		argv = append(argv, "--set", setting)
	}
	if p.petstore == "" {
		argv = []string{os.Args[0], "reference", p.label, s.host, s.dsn, fmt.Sprint(r.connections)}
	}
	return s, s.run(ctx, filepath.Join(b.scratch, fmt.Sprintf("%d.log", b.started)), argv)
}

// run starts the process of the server and returns when it responds. The process ends with ctx at the
// latest.
func (s *server) run(ctx context.Context, log string, argv []string) error {
	output, err := os.Create(filepath.Clean(log))
	if err != nil {
		return err
	}
	defer func() { _ = output.Close() }() // the process has the file open, too
	ctx, cancel := context.WithCancel(ctx)
	cmd := exec.CommandContext(ctx, "taskset", append([]string{"-c", serverCore}, argv...)...)
	cmd.Env = []string{} // no settings of petstore
	cmd.Stdout, cmd.Stderr = output, output
	cmd.Cancel = func() error { return cmd.Process.Signal(syscall.SIGTERM) }
	cmd.WaitDelay = 10 * time.Second // after the delay, the process is killed
	if err := cmd.Start(); err != nil {
		cancel()
		return err
	}
	s.pid, s.stop = cmd.Process.Pid, func() { cancel(); _ = cmd.Wait() }
	for start := time.Now(); ; time.Sleep(10 * time.Millisecond) {
		_, err := get(ctx, "http://"+s.host+listPath, s.key)
		if err == nil {
			return nil
		}
		if time.Since(start) > 30*time.Second || ctx.Err() != nil {
			s.stop()
			text, _ := os.ReadFile(filepath.Clean(log))
			return fmt.Errorf("start %q: %w\n%s", argv, err, text)
		}
	}
}

// get returns the body of the 200 response to GET url.
func get(ctx context.Context, url, key string) ([]byte, error) {
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, url, http.NoBody)
	if err != nil {
		return nil, err
	}
	request.Header.Set("Authorization", "Bearer "+key)
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		return nil, err
	}
	defer response.Body.Close()
	body, err := io.ReadAll(response.Body)
	if err == nil && response.StatusCode != http.StatusOK {
		err = fmt.Errorf("GET %s: %s: %s", url, response.Status, body)
	}
	return body, err
}

// freeAddress returns a host:port that nothing listens on.
func freeAddress(ctx context.Context) (string, error) {
	listener, err := (&net.ListenConfig{}).Listen(ctx, "tcp", "127.0.0.1:0")
	if err != nil {
		return "", err
	}
	return listener.Addr().String(), listener.Close()
}

// A store is a database of petstore with generated pets.
type store struct {
	driver string // onSQLite or onPostgres
	dsn    string
	key    string // an API key that it accepts
}

// settings returns the settings of petstore for the store.
func (s store) settings() []string {
	return []string{"database.driver=" + s.driver, "database.dsn=" + s.dsn}
}

// newStore creates a store for the server that is being started. petstore is the program of that server,
// because another version may not open the store. All stores have the same pets.
func (b *bench) newStore(ctx context.Context, kind, petstore string) (store, error) {
	name := fmt.Sprintf("bench_%d", b.started)
	st := store{driver: onSQLite, dsn: filepath.Join(b.scratch, name+".db")}
	if kind != onSQLite {
		if err := b.startPostgres(ctx); err != nil {
			return st, err
		}
		if err := b.postgres.Exec(ctx, "CREATE DATABASE "+name); err != nil {
			return st, err
		}
		st.driver, st.dsn = onPostgres, "postgres://postgres@127.0.0.1:"+os.Getenv("PGPORT")+"/"+name+"?sslmode=disable"
	}
	if _, err := command(ctx, petstore, st, "seed", "--count", fmt.Sprint(pets)); err != nil {
		return st, err
	}
	key, err := command(ctx, petstore, st, "keys", "create", "--name", "bench")
	if err == nil && kind == farPostgres {
		st.dsn, err = delayed(ctx, st.dsn, os.Getenv("PGPORT"), 325*time.Microsecond)
	}
	st.key = strings.TrimSpace(key)
	return st, err
}

// command runs a petstore program on a store and returns its standard output.
func command(ctx context.Context, petstore string, st store, args ...string) (string, error) {
	for _, setting := range st.settings() {
		args = append(args, "--set", setting)
	}
	cmd := exec.CommandContext(ctx, petstore, args...)
	cmd.Env = []string{} // no settings of petstore
	stdout, err := cmd.Output()
	if exit, failed := errors.AsType[*exec.ExitError](err); failed {
		err = fmt.Errorf("petstore %q: %w: %s", args, err, exit.Stderr)
	}
	return string(stdout), err
}

// startPostgres starts the PostgreSQL server of all rows, on the core of the servers and the port PGPORT.
// Autovacuum is off, because it could run while one of two servers is measured.
func (b *bench) startPostgres(ctx context.Context) error {
	if b.postgres != nil {
		return nil
	}
	address, err := freeAddress(ctx)
	if err != nil {
		return err
	}
	host, port, _ := strings.Cut(address, ":")
	if err := errors.Join(os.Setenv("PGPORT", port), pin(ctx, serverCore)); err != nil { // PostgreSQL inherits the core
		return err
	}
	// A folder for temporary files may be in memory. /var/tmp is on a disk, and the user of PostgreSQL can
	// access it.
	b.postgres, err = postgrestest.StartIn("/var/tmp", "listen_addresses="+host, "port="+port, "max_connections=200", "autovacuum=off")
	return errors.Join(err, pin(ctx, clientCore))
}
