package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"github.com/google/pprof/profile"
)

// profile fetches the CPU profile of a server during a run, where profiles are wanted.
// The channel yields the error, or nil, when it is complete.
func (h *harness) profile(ctx context.Context, p *process) <-chan error {
	done := make(chan error, 1)
	if p.admin == "" {
		close(done)
		return done
	}
	go func() { done <- h.fetchProfile(ctx, p.admin) }()
	return done
}

func (h *harness) fetchProfile(ctx context.Context, admin string) error {
	encoded, err := get(ctx, fmt.Sprintf("%s/debug/pprof/profile?seconds=%.0f", admin, h.duration.Seconds()), "")
	if err != nil {
		return err
	}
	one, err := profile.ParseData(encoded)
	if err != nil {
		return err
	}
	h.profiles = append(h.profiles, one)
	return nil
}

// writeProfile merges all profiles into one file for the compiler (go.dev/doc/pgo),
// without the folder of the program.
func (h *harness) writeProfile(name string) error {
	merged, err := profile.Merge(h.profiles)
	if err != nil {
		return err
	}
	for _, m := range merged.Mapping {
		m.File = filepath.Base(m.File)
	}
	file, err := os.Create(filepath.Clean(name))
	if err != nil {
		return err
	}
	return errors.Join(merged.Write(file), file.Close())
}
