package main

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"time"
)

// A store is a database of petstore with generated pets.
type store struct {
	dsn      string // of a SQLite file its path
	postgres bool
	key      string // an API key that it accepts
}

// settings are those of petstore.
func (s store) settings() []string {
	driver := "sqlite"
	if s.postgres {
		driver = "postgres"
	}
	return []string{"database.driver=" + driver, "database.dsn=" + s.dsn}
}

// store returns the store of a server: one of its own where the server writes, else
// the one that all of that size share, which is reused if the folder was not removed.
func (h *harness) store(ctx context.Context, s server) (store, error) {
	if s.postgres {
		return h.postgresStore(ctx, s)
	}
	if s.writes {
		st, _, err := h.seed(ctx, store{dsn: filepath.Join(h.scratch, fmt.Sprintf("written-%d.db", h.started))}, s.pets)
		return st, err
	}
	path := filepath.Join(h.stores, fmt.Sprintf("pets-%d.db", s.pets))
	if key, err := os.ReadFile(filepath.Clean(path + ".key")); err == nil {
		return store{dsn: path, key: string(key)}, nil
	}
	for _, file := range []string{path, path + "-wal", path + "-shm"} {
		if err := os.RemoveAll(file); err != nil {
			return store{}, err
		}
	}
	st, _, err := h.seed(ctx, store{dsn: path}, s.pets)
	if err != nil {
		return store{}, err
	}
	// Written last: the file of the key shows that the store is complete.
	return st, os.WriteFile(path+".key", []byte(st.key), 0o600)
}

// seed creates a store with the measured program and returns how long petstore seed
// took. Stores with the same number of pets are equal but for their keys.
func (h *harness) seed(ctx context.Context, st store, pets int) (store, time.Duration, error) {
	h.logf("  seeding a store of %s pets", thousands(float64(pets)))
	start := time.Now()
	if _, err := h.command(ctx, st, "seed", "--count", fmt.Sprint(pets)); err != nil {
		return store{}, 0, err
	}
	took := time.Since(start)
	key, err := h.command(ctx, st, "keys", "create", "--name", "bench")
	st.key = strings.TrimSpace(key)
	return st, took, err
}

// command runs petstore on a store and returns its standard output.
func (h *harness) command(ctx context.Context, st store, args ...string) (string, error) {
	command := strings.Join(args, " ")
	for _, setting := range st.settings() {
		args = append(args, "--set", setting)
	}
	cmd := exec.CommandContext(ctx, h.petstore, args...)
	cmd.Env = environ()
	var stderr strings.Builder
	cmd.Stderr = &stderr
	stdout, err := cmd.Output()
	if err != nil {
		return "", fmt.Errorf("petstore %s: %w: %s", command, err, stderr.String())
	}
	return string(stdout), nil
}
