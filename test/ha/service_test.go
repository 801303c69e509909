package ha_test

import (
	"fmt"
	"io"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"example.com/petstore/domain/apikey"
	"example.com/petstore/internal/test/testkit"
	"example.com/petstore/test/harness"
)

// A service is two replicas of petstore behind nginx.
type service struct {
	url, key string
	replicas []*replica
	log      harness.Buffer // the log of both replicas
}

// A replica is one process of petstore.
type replica struct {
	name    string // the name, also the application_name on the server
	address string
	environ []string
	process *harness.Server
}

// startService starts two replicas on a cluster, and nginx with docs/deploy/nginx.conf. They are removed
// when the test ends.
func startService(t *testing.T, c *cluster, settings ...string) *service {
	t.Helper()
	s := &service{key: apikey.Generate()}
	t.Cleanup(func() {
		if t.Failed() || *logs != "" {
			t.Logf("the replicas logged %s", s.log.String())
		}
	})
	for _, name := range []string{"petstore-a", "petstore-b"} {
		r := &replica{name: name, address: harness.FreeAddress(t)}
		r.environ = append([]string{
			"PETSTORE_DATABASE_DRIVER=postgres", "PETSTORE_DATABASE_DSN=" + c.dsn(name),
			"PETSTORE_SERVER_ADDRESS=" + r.address, "PETSTORE_ADMIN_ADDRESS=", "PETSTORE_AUTH_BOOTSTRAP_KEY=" + s.key, "PETSTORE_LOG_LEVEL=warn",
			"PETSTORE_CACHE_STALE_IF_UNAVAILABLE=" + *stale,
		}, settings...)
		s.replicas = append(s.replicas, r)
		s.start(t, r)
	}

	address := harness.FreeAddress(t)
	s.url = "http://" + address
	site := writeFile(t, c.folder, "petstore.conf", "nginx.conf",
		"listen 80;", "listen "+address+";", "10.0.0.21:8080", s.replicas[0].address, "10.0.0.22:8080", s.replicas[1].address)
	main := filepath.Join(c.folder, "main.conf")
	testkit.Check(t, os.WriteFile(main, fmt.Appendf(nil, `daemon off; master_process off; error_log stderr crit; pid %[1]s/pid;
		events { worker_connections 1024; }
		http { access_log off; client_body_temp_path %[1]s/a; proxy_temp_path %[1]s/b; fastcgi_temp_path %[1]s/c;
		uwsgi_temp_path %[1]s/d; scgi_temp_path %[1]s/e; include %[2]s; }`, c.folder, site), 0o644))
	startProcess(t, c.folder, os.Stderr, "nginx", "-c", main, "-p", c.folder)
	testkit.WaitUntilWithin(t, 10*time.Second, "nginx serves", func() bool {
		status, _ := request(http.MethodGet, s.url+"/livez", "")
		return status == http.StatusOK
	})
	return s
}

// start starts a replica and waits until it is ready.
func (s *service) start(t *testing.T, r *replica) {
	t.Helper()
	cmd := exec.Command("setpriv", "--pdeathsig", "TERM", harness.Program(t), "serve")
	cmd.Env, cmd.Stderr = r.environ, &s.log
	r.process = harness.Launch(t, cmd, r.address)
	testkit.WaitUntilWithin(t, 20*time.Second, r.name+" is ready", func() bool { return r.process.IsReady(t.Context()) })
}

// startProcess starts a program in a folder. If the tests run as root, it runs as the user postgres. The
// process is killed when the test ends. If the tests are killed, it gets SIGTERM.
func startProcess(t *testing.T, folder string, output io.Writer, program string, args ...string) *harness.Server {
	t.Helper()
	options := []string{"--pdeathsig", "TERM"}
	if os.Geteuid() == 0 {
		options = append(options, "--reuid", "postgres", "--regid", "postgres", "--clear-groups")
	}
	cmd := exec.Command("setpriv", slices.Concat(options, []string{program}, args)...)
	cmd.Dir, cmd.Stdout, cmd.Stderr = folder, output, output
	cmd.Env = []string{"PATH=" + os.Getenv("PATH") + ":/usr/sbin", "LC_ALL=C.UTF-8", "HOME=" + folder}
	return harness.Launch(t, cmd, "")
}

// chown gives a folder to the user of the processes.
func chown(t *testing.T, folder string) {
	t.Helper()
	if os.Geteuid() == 0 {
		testkit.Check(t, exec.CommandContext(t.Context(), "chown", "postgres:postgres", folder).Run())
	}
}

// processesIn returns the ids of the processes whose working directory is folder. The working directory of
// PostgreSQL is its data directory.
func processesIn(folder string) (ids []int) {
	links, _ := filepath.Glob("/proc/[0-9]*/cwd") // fails only for a bad pattern
	for _, link := range links {
		if target, err := os.Readlink(link); err == nil && target == folder {
			id, _ := strconv.Atoi(strings.Split(link, "/")[2])
			ids = append(ids, id)
		}
	}
	return ids
}

// signalAll sends a signal to processes. It ignores processes that have exited.
func signalAll(signal syscall.Signal, ids []int) {
	for _, id := range ids {
		_ = syscall.Kill(id, signal)
	}
}

// writeFile writes a file of docs/deploy to folder and replaces values in it. values are alternating old and
// new texts. Each old text must occur in the file.
func writeFile(t *testing.T, folder, name, source string, values ...string) (path string) {
	t.Helper()
	text := harness.ReadFile(t, "../../docs/deploy/"+source)
	for i := 0; i < len(values); i += 2 {
		if !strings.Contains(text, values[i]) {
			t.Fatalf("%s does not contain %q", source, values[i])
		}
	}
	path = filepath.Join(folder, name)
	testkit.Check(t, os.WriteFile(path, []byte(strings.NewReplacer(values...).Replace(text)), 0o644))
	return path
}
