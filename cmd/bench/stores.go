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

// A store is a file of petstore's with made-up animals, and a key for it.
type store struct {
	path string
	key  string
}

// store makes the store of a side. Those that are only read are shared, and found
// again in a folder that was kept.
func (l *lab) store(ctx context.Context, s side) (store, error) {
	if s.writes {
		st, _, err := l.seed(ctx, filepath.Join(l.scratch, fmt.Sprintf("written-%d.db", l.servers)), s.animals)
		return st, err
	}
	path := filepath.Join(l.stores, fmt.Sprintf("pets-%d.db", s.animals))
	if key, err := os.ReadFile(filepath.Clean(path + ".key")); err == nil {
		return store{path: path, key: string(key)}, nil
	}
	st, _, err := l.seed(ctx, path, s.animals)
	if err != nil {
		return store{}, err
	}
	// Written last, the key tells that the store is whole.
	return st, os.WriteFile(path+".key", []byte(st.key), 0o600)
}

// seed makes a store anew, and tells how long the program took to fill it.
func (l *lab) seed(ctx context.Context, path string, animals int) (store, time.Duration, error) {
	for _, file := range []string{path, path + "-wal", path + "-shm"} {
		if err := os.RemoveAll(file); err != nil {
			return store{}, 0, err
		}
	}
	l.tell("a store of %s animals", thousands(float64(animals)))
	start := time.Now()
	if _, err := l.command(ctx, path, "seed", "--count", fmt.Sprint(animals)); err != nil {
		return store{}, 0, err
	}
	took := time.Since(start)
	key, err := l.command(ctx, path, "keys", "create", "--name", "bench")
	return store{path: path, key: strings.TrimSpace(key)}, took, err
}

// command runs petstore on a store and returns what it prints.
func (l *lab) command(ctx context.Context, path string, args ...string) (string, error) {
	cmd := exec.CommandContext(ctx, l.petstore, append(args, "--set", "database.dsn="+path)...)
	cmd.Env = environ()
	var said strings.Builder
	cmd.Stderr = &said
	printed, err := cmd.Output()
	if err != nil {
		return "", fmt.Errorf("petstore %s: %w: %s", strings.Join(args, " "), err, said.String())
	}
	return string(printed), nil
}
