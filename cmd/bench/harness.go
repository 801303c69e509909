package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"time"

	"github.com/google/pprof/profile"
)

// A harness starts servers and measures them. Close it.
type harness struct {
	petstore string // the program that is measured
	self     string // this program, which contains the references
	stores   string // the folder of the stores that are only read
	scratch  string // the folder of everything else
	remove   string // the folder that close removes
	rounds   int
	duration time.Duration // of a run
	progress io.Writer
	started  int             // processes so far
	postgres *postgresServer // nil if no scenario needs it

	profiling bool
	profiles  []*profile.Profile
}

func newHarness(o options, progress io.Writer) (*harness, error) {
	if runtime.NumCPU() < 2 {
		return nil, errors.New("bench needs two cores, one for the server and one for the client")
	}
	programs := []string{"wrk", "taskset", o.petstore}
	if o.against != "" {
		programs = append(programs, o.against)
	}
	for _, program := range programs {
		if _, err := exec.LookPath(program); err != nil {
			return nil, fmt.Errorf("%w: run make bench, which installs wrk and builds the programs", err)
		}
	}
	self, err := os.Executable()
	if err != nil {
		return nil, err
	}
	h := &harness{
		petstore: o.petstore, self: self, stores: o.stores,
		rounds: o.rounds, duration: o.duration, progress: progress, profiling: o.profile != "",
	}
	if err := h.makeFolders(); err != nil {
		h.close()
		return nil, err
	}
	return h, nil
}

// makeFolders creates the scratch folder in the folder of the stores. Without a
// folder of stores both are one next to the program, because a folder for temporary
// files may be in memory.
func (h *harness) makeFolders() (err error) {
	if h.stores == "" {
		h.stores, err = os.MkdirTemp(filepath.Dir(h.petstore), "bench-")
		h.scratch, h.remove = h.stores, h.stores
	} else if err = os.MkdirAll(h.stores, 0o750); err == nil {
		h.scratch, err = os.MkdirTemp(h.stores, "scratch-")
		h.remove = h.scratch
	}
	if err != nil {
		return err
	}
	return os.CopyFS(h.scratch, scripts)
}

func (h *harness) close() {
	if h.postgres != nil {
		if err := h.postgres.close(); err != nil {
			h.logf("stop PostgreSQL: %v", err)
		}
	}
	_ = os.RemoveAll(h.remove)
}

func (h *harness) logf(format string, args ...any) { fmt.Fprintf(h.progress, format+"\n", args...) }

// start starts a server. body is what a reference sends, and key the API key in the
// requests to a server without a store.
func (h *harness) start(ctx context.Context, s server, body []byte, key string) (*process, error) {
	st := store{key: key}
	unlock := func() {}
	if s.pets > 0 {
		var err error
		if st, err = h.store(ctx, s); err != nil {
			return nil, err
		}
		if !s.postgres {
			if unlock, err = h.lockInMemory(st.dsn); err != nil {
				return nil, err
			}
		}
	}
	p, err := h.startOne(ctx, s, st, body)
	if err != nil {
		unlock()
		return nil, err
	}
	stop := p.stop
	p.stop = func() { stop(); unlock() }
	for range s.replicas {
		replica, err := h.startOne(ctx, s, st, body)
		if err != nil {
			p.stop()
			return nil, err
		}
		p.replicas = append(p.replicas, replica)
		stop := p.stop
		p.stop = func() { replica.stop(); stop() }
	}
	return p, nil
}

// startOne starts one process of a server.
func (h *harness) startOne(ctx context.Context, s server, st store, body []byte) (p *process, err error) {
	h.started++
	name := filepath.Join(h.scratch, fmt.Sprintf("server-%d", h.started))
	address, err := freeAddress(ctx)
	if err != nil {
		return nil, err
	}
	if s.reference != "" {
		p, err = h.startReference(ctx, s, st, body, address, name)
	} else {
		p, err = h.startPetstore(ctx, s, st, address, name)
	}
	if err != nil {
		return nil, err
	}
	p.server, p.store = s, st
	return p, nil
}

func (h *harness) startReference(ctx context.Context, s server, st store, body []byte, address, name string) (*process, error) {
	file := name + ".json"
	if err := os.WriteFile(file, body, 0o600); err != nil {
		return nil, err
	}
	return startProcess(ctx, address, st.key, name+".log",
		h.self, "reference", "-address", address, "-body", file, "-store", st.dsn, "-connections", fmt.Sprint(s.connections), s.reference)
}

func (h *harness) startPetstore(ctx context.Context, s server, st store, address, name string) (*process, error) {
	program := h.petstore
	if s.program != "" {
		program = s.program
	}
	argv := []string{program, "serve"}
	settings := append(st.settings(), "server.address="+address, "admin.address=127.0.0.1:0")
	if s.connections > 0 {
		settings = append(settings, fmt.Sprintf("database.max_open_conns=%d", s.connections))
	}
	for _, setting := range append(settings, s.settings...) { // the last setting of a name is in force
		argv = append(argv, "--set", setting)
	}
	var admin string
	if h.profiling {
		address, err := freeAddress(ctx)
		if err != nil {
			return nil, err
		}
		argv, admin = append(argv, "--set", "admin.address="+address), "http://"+address
	}
	p, err := startProcess(ctx, address, st.key, name+".log", argv...)
	if err != nil {
		return nil, err
	}
	p.admin = admin
	return p, nil
}
