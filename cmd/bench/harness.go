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
	started  int // servers so far

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

func (h *harness) close() { _ = os.RemoveAll(h.remove) }

func (h *harness) logf(format string, args ...any) { fmt.Fprintf(h.progress, format+"\n", args...) }

// start starts a server. body is what a reference sends, and key the API key in the
// requests to a server without a store.
func (h *harness) start(ctx context.Context, s server, body []byte, key string) (*process, error) {
	h.started++
	name := filepath.Join(h.scratch, fmt.Sprintf("server-%d", h.started))
	address, err := freeAddress(ctx)
	if err != nil {
		return nil, err
	}
	var st store
	unlock := func() {}
	if s.pets > 0 {
		if st, err = h.store(ctx, s); err != nil {
			return nil, err
		}
		key = st.key
		if unlock, err = h.lockInMemory(st.path); err != nil {
			return nil, err
		}
	}
	var p *process
	if s.reference != "" {
		p, err = h.startReference(ctx, s, st, body, key, address, name)
	} else {
		p, err = h.startPetstore(ctx, s, st, address, name)
	}
	if err != nil {
		unlock()
		return nil, err
	}
	stop := p.stop
	p.server, p.stop = s, func() { stop(); unlock() }
	return p, nil
}

func (h *harness) startReference(ctx context.Context, s server, st store, body []byte, key, address, name string) (*process, error) {
	file := name + ".json"
	if err := os.WriteFile(file, body, 0o600); err != nil {
		return nil, err
	}
	return startProcess(ctx, address, key, name+".log",
		h.self, "reference", "-address", address, "-body", file, "-store", st.path, "-connections", fmt.Sprint(s.connections), s.reference)
}

func (h *harness) startPetstore(ctx context.Context, s server, st store, address, name string) (*process, error) {
	program := h.petstore
	if s.program != "" {
		program = s.program
	}
	argv := []string{program, "serve"}
	// The last setting of a name is in force.
	for _, setting := range append([]string{"server.address=" + address, "database.dsn=" + st.path, "admin.address=127.0.0.1:0"}, s.settings...) {
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
