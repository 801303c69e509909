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

// A store is a database file of petstore with generated pets.
type store struct {
	path string
	key  string // an API key that it accepts
}

// store returns the store of a server: one of its own where the server writes, else
// the one that all of that size share, which is reused if the folder was not removed.
func (h *harness) store(ctx context.Context, s server) (store, error) {
	if s.writes {
		st, _, err := h.seed(ctx, filepath.Join(h.scratch, fmt.Sprintf("written-%d.db", h.started)), s.pets)
		return st, err
	}
	path := filepath.Join(h.stores, fmt.Sprintf("pets-%d.db", s.pets))
	if key, err := os.ReadFile(filepath.Clean(path + ".key")); err == nil {
		return store{path: path, key: string(key)}, nil
	}
	st, _, err := h.seed(ctx, path, s.pets)
	if err != nil {
		return store{}, err
	}
	// Written last: the file of the key shows that the store is complete.
	return st, os.WriteFile(path+".key", []byte(st.key), 0o600)
}

// seed creates a store with the measured program and returns how long petstore seed
// took. Stores with the same number of pets are equal but for their keys.
func (h *harness) seed(ctx context.Context, path string, pets int) (store, time.Duration, error) {
	for _, file := range []string{path, path + "-wal", path + "-shm"} {
		if err := os.RemoveAll(file); err != nil {
			return store{}, 0, err
		}
	}
	h.logf("  seeding a store of %s pets", thousands(float64(pets)))
	start := time.Now()
	if _, err := h.command(ctx, path, "seed", "--count", fmt.Sprint(pets)); err != nil {
		return store{}, 0, err
	}
	took := time.Since(start)
	key, err := h.command(ctx, path, "keys", "create", "--name", "bench")
	return store{path: path, key: strings.TrimSpace(key)}, took, err
}

// command runs petstore on a store and returns its standard output.
func (h *harness) command(ctx context.Context, path string, args ...string) (string, error) {
	cmd := exec.CommandContext(ctx, h.petstore, append(args, "--set", "database.dsn="+path)...)
	cmd.Env = environ()
	var stderr strings.Builder
	cmd.Stderr = &stderr
	stdout, err := cmd.Output()
	if err != nil {
		return "", fmt.Errorf("petstore %s: %w: %s", strings.Join(args, " "), err, stderr.String())
	}
	return string(stdout), nil
}
