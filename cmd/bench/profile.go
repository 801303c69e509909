package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"github.com/google/pprof/profile"
)

// profile keeps what a server does during its turn, if profiles are wanted, and tells
// when it is done.
func (l *lab) profile(ctx context.Context, s *server) <-chan error {
	done := make(chan error, 1)
	if s.admin == "" {
		close(done)
		return done
	}
	go func() { done <- l.keepProfile(ctx, &server{url: s.admin}) }()
	return done
}

func (l *lab) keepProfile(ctx context.Context, admin *server) error {
	encoded, err := admin.get(ctx, fmt.Sprintf("/debug/pprof/profile?seconds=%.0f", l.duration.Seconds()))
	if err != nil {
		return err
	}
	kept, err := profile.ParseData(encoded)
	if err != nil {
		return err
	}
	l.profiles = append(l.profiles, kept)
	return nil
}

// writeProfile writes all profiles as one, which tells the compiler what the program
// does most (go.dev/doc/pgo). It does not tell where the program stood.
func (l *lab) writeProfile(file string) error {
	all, err := profile.Merge(l.profiles)
	if err != nil {
		return err
	}
	for _, m := range all.Mapping {
		m.File = filepath.Base(m.File)
	}
	to, err := os.Create(filepath.Clean(file))
	if err != nil {
		return err
	}
	return errors.Join(all.Write(to), to.Close())
}
