package postgrestest

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

// A cluster is the data directory of a server and its process. The server has one listener,
// a Unix socket in the folder of the cluster.
type cluster struct {
	folder   string
	programs string // the folder of initdb and postgres
	settings []string
	process  *exec.Cmd // nil while the server is stopped
	log      strings.Builder
}

// newCluster creates a cluster in a new folder of parent, or of the folder for temporary files if
// that is empty, and starts its server.
func newCluster(parent string, settings []string) (_ *cluster, err error) {
	programs, err := findPrograms()
	if err != nil {
		return nil, err
	}
	if parent == "" {
		parent = tempFolder()
	}
	folder, err := os.MkdirTemp(parent, "petstore-postgres-")
	if err != nil {
		return nil, err
	}
	c := &cluster{folder: folder, programs: programs, settings: settings}
	defer func() {
		if err != nil {
			err = errors.Join(err, c.remove())
		}
	}()
	commands := []*exec.Cmd{c.command("initdb", "--pgdata="+c.data(), "--username=postgres", "--auth=trust", "--encoding=UTF8", "--locale=C", "--no-sync")}
	if os.Geteuid() == 0 {
		commands = append([]*exec.Cmd{exec.CommandContext(context.Background(), "chown", serverUser, folder)}, commands...)
	}
	for _, cmd := range commands {
		if output, err := cmd.CombinedOutput(); err != nil {
			return nil, fmt.Errorf("%v: %w\n%s", cmd, err, output)
		}
	}
	return c, c.Start()
}

// serverUser runs the server if the tests run as root, as which PostgreSQL refuses to run.
const serverUser = "postgres"

// tempFolder returns the folder for clusters, "" for the default: in memory if 4 GiB are free,
// because the tests wait for fsync most of the time.
func tempFolder() string {
	const memory = "/dev/shm"
	var stat unix.Statfs_t
	if os.Getenv("TMPDIR") == "" && unix.Statfs(memory, &stat) == nil && int64(stat.Bavail)*int64(stat.Bsize) >= 4<<30 {
		return memory
	}
	return ""
}

func (c *cluster) data() string { return filepath.Join(c.folder, "data") }

var errMissing = errors.New("PostgreSQL is not installed: run make deps, or let the tests use a server on which they may create databases with " + dsnVariable)

// findPrograms returns the folder of initdb and postgres: of the newest version where
// Debian installs them, or in PATH.
func findPrograms() (string, error) {
	found, _ := filepath.Glob("/usr/lib/postgresql/*/bin/initdb") // fails only for a bad pattern
	if len(found) > 0 {
		slices.Sort(found)
		return filepath.Dir(found[len(found)-1]), nil
	}
	path, err := exec.LookPath("initdb")
	if err != nil {
		return "", errMissing
	}
	return filepath.Dir(path), nil
}

// command returns a command that runs a program of PostgreSQL as the user of the server. If there is setpriv, as on Linux, the
// process ends with the tests.
func (c *cluster) command(program string, args ...string) *exec.Cmd {
	args = append([]string{filepath.Join(c.programs, program)}, args...)
	if setpriv, err := exec.LookPath("setpriv"); err == nil {
		options := []string{setpriv, "--pdeathsig", "INT"}
		if os.Geteuid() == 0 {
			options = append(options, "--reuid", serverUser, "--regid", serverUser, "--clear-groups")
		}
		args = append(options, args...)
	}
	cmd := exec.CommandContext(context.Background(), args[0], args[1:]...)
	cmd.Dir = c.folder
	return cmd
}

// Start starts the server and waits until it accepts connections.
func (c *cluster) Start() error {
	args := []string{"-D", c.data(), "-k", c.folder, "-c", "listen_addresses="}
	for _, setting := range c.settings {
		args = append(args, "-c", setting)
	}
	server := c.command("postgres", args...)
	c.log.Reset()
	server.Stderr = &c.log
	if err := server.Start(); err != nil {
		return err
	}
	c.process = server
	return c.waitUntilReady()
}

// waitUntilReady waits until postmaster.pid says that the server is ready, in its eighth
// line.
func (c *cluster) waitUntilReady() error {
	for start := time.Now(); time.Since(start) < 30*time.Second; time.Sleep(5 * time.Millisecond) {
		status, _ := os.ReadFile(filepath.Join(c.data(), "postmaster.pid")) // does not exist at first
		if lines := strings.Split(string(status), "\n"); len(lines) > 7 && strings.TrimSpace(lines[7]) == "ready" {
			return nil
		}
	}
	return errors.Join(errors.New("the server did not start"), c.Stop(), errors.New(c.log.String()))
}

// PID returns the id of the process of the running server. Those of its connections are its children.
func (c *cluster) PID() int { return c.process.Process.Pid }

// Stop closes all connections and stops the server. It does nothing if the server is stopped.
func (c *cluster) Stop() error {
	if c.process == nil {
		return nil
	}
	server := c.process
	c.process = nil
	_ = server.Process.Signal(syscall.SIGINT) // fails only after the server has exited
	return server.Wait()
}

func (c *cluster) remove() error {
	return errors.Join(c.Stop(), os.RemoveAll(c.folder))
}
