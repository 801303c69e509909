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

// A lab is where servers are started and measured. Close it.
type lab struct {
	petstore string // the program
	self     string // this program, which has the references
	stores   string // the folder of the stores that are read only, which may be kept
	scratch  string // the folder of all else
	remove   string // at the end
	rounds   int
	duration time.Duration
	progress io.Writer
	servers  int // started so far

	profiling bool // is wanted
	profiles  []*profile.Profile
}

func newLab(o options, progress io.Writer) (*lab, error) {
	if runtime.NumCPU() < 2 {
		return nil, errors.New("two cores are needed, one for the server and one for wrk")
	}
	for _, program := range []string{"wrk", "taskset", o.petstore} {
		if _, err := exec.LookPath(program); err != nil {
			return nil, fmt.Errorf("%w: make bench installs and builds what is needed", err)
		}
	}
	self, err := os.Executable()
	if err != nil {
		return nil, err
	}
	l := &lab{
		petstore: o.petstore, self: self, stores: o.work,
		rounds: o.rounds, duration: o.duration, progress: progress, profiling: o.profile != "",
	}
	if err := l.makeFolders(); err != nil {
		l.close()
		return nil, err
	}
	return l, nil
}

// makeFolders makes the scratch folder in that of the stores, or, where none was
// named, beside the program: a folder for temporary files may be in memory.
func (l *lab) makeFolders() (err error) {
	if l.stores == "" {
		l.stores, err = os.MkdirTemp(filepath.Dir(l.petstore), "bench-")
		l.scratch, l.remove = l.stores, l.stores
	} else if err = os.MkdirAll(l.stores, 0o750); err == nil {
		l.scratch, err = os.MkdirTemp(l.stores, "scratch-")
		l.remove = l.scratch
	}
	if err != nil {
		return err
	}
	return os.CopyFS(l.scratch, scripts)
}

func (l *lab) close() { _ = os.RemoveAll(l.remove) }

func (l *lab) tell(format string, args ...any) { fmt.Fprintf(l.progress, format+"\n", args...) }

// start starts the server of a side, with a store of its own where it writes.
// same are the bytes that a reference answers, and key the one that a side
// without a store is asked with.
func (l *lab) start(ctx context.Context, s side, same []byte, key string) (*server, error) {
	l.servers++
	name := filepath.Join(l.scratch, fmt.Sprintf("server-%d", l.servers))
	address, err := freeAddress(ctx)
	if err != nil {
		return nil, err
	}
	var st store
	release := func() {}
	if s.animals > 0 {
		if st, err = l.store(ctx, s); err != nil {
			return nil, err
		}
		key = st.key
		if release, err = l.hold(st.path); err != nil {
			return nil, err
		}
	}
	var started *server
	if s.reference != "" {
		started, err = l.startReference(ctx, s, st, same, key, address, name)
	} else {
		started, err = l.startPetstore(ctx, s, st, address, name)
	}
	if err != nil {
		release()
		return nil, err
	}
	stop := started.stop
	started.stop = func() { stop(); release() }
	return started, nil
}

func (l *lab) startReference(ctx context.Context, s side, st store, same []byte, key, address, name string) (*server, error) {
	body := name + ".json"
	if err := os.WriteFile(body, same, 0o600); err != nil {
		return nil, err
	}
	return startServer(ctx, address, key, name+".log",
		l.self, "reference", "-address", address, "-body", body, "-store", st.path, s.reference)
}

func (l *lab) startPetstore(ctx context.Context, s side, st store, address, name string) (*server, error) {
	argv := []string{l.petstore, "serve"}
	// The side's own come last, because the last one of a name is in force.
	for _, setting := range append([]string{"server.address=" + address, "database.dsn=" + st.path, "admin.address=127.0.0.1:0"}, s.settings...) {
		argv = append(argv, "--set", setting)
	}
	var admin string
	if l.profiling {
		address, err := freeAddress(ctx)
		if err != nil {
			return nil, err
		}
		argv, admin = append(argv, "--set", "admin.address="+address), "http://"+address
	}
	started, err := startServer(ctx, address, st.key, name+".log", argv...)
	if err != nil {
		return nil, err
	}
	started.admin = admin
	return started, nil
}
