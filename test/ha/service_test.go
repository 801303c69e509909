package ha_test

import (
	"fmt"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
	"time"

	"example.com/petstore/domain/apikey"
	"example.com/petstore/test/harness"
)

// A service is two replicas of petstore behind nginx.
type service struct {
	url, key string
	replicas []*replica
	log      harness.Buffer // of both
}

// A replica is one process of petstore.
type replica struct {
	name    string // also its application_name
	address string
	environ []string
	process *harness.Server
}

// startService starts two replicas on a cluster, and nginx with
// docs/deploy/nginx.conf. It is removed at the end of the test.
func startService(t *testing.T, c *cluster, settings ...string) *service {
	t.Helper()
	s := &service{key: apikey.Generate()}
	for _, name := range []string{"petstore-a", "petstore-b"} {
		r := &replica{name: name, address: harness.FreeAddress(t)}
		r.environ = append([]string{
			"PETSTORE_DATABASE_DRIVER=postgres", "PETSTORE_DATABASE_DSN=" + c.dsn(name),
			"PETSTORE_SERVER_ADDRESS=" + r.address, "PETSTORE_ADMIN_ADDRESS=", "PETSTORE_AUTH_BOOTSTRAP_KEY=" + s.key, "PETSTORE_LOG_LEVEL=warn",
		}, settings...)
		s.replicas = append(s.replicas, r)
		s.start(t, r)
	}
	s.url = "http://" + s.startNginx(t, c.folder)
	return s
}

// start starts a replica and waits until it is ready.
func (s *service) start(t *testing.T, r *replica) {
	t.Helper()
	cmd := exec.Command("setpriv", "--pdeathsig", "TERM", harness.Program(t), "serve")
	cmd.Env, cmd.Stderr = r.environ, &s.log
	r.process = harness.Launch(t, cmd, r.address)
	harness.EventuallyWithin(t, 20*time.Second, r.name+" is ready", func() bool { return r.process.IsReady(t.Context()) })
}

func (s *service) startNginx(t *testing.T, folder string) (address string) {
	t.Helper()
	address = harness.FreeAddress(t)
	site := writeFile(t, folder, "petstore.conf", "nginx.conf",
		"listen 80;", "listen "+address+";", "10.0.0.21:8080", s.replicas[0].address, "10.0.0.22:8080", s.replicas[1].address)
	main := filepath.Join(folder, "main.conf")
	harness.Check(t, os.WriteFile(main, fmt.Appendf(nil, `daemon off; master_process off; error_log stderr crit; pid %[1]s/pid;
		events { worker_connections 1024; }
		http { access_log off; client_body_temp_path %[1]s/a; proxy_temp_path %[1]s/b; fastcgi_temp_path %[1]s/c;
		uwsgi_temp_path %[1]s/d; scgi_temp_path %[1]s/e; include %[2]s; }`, folder, site), 0o644))
	startProcess(t, folder, os.Stderr, "nginx", "-c", main, "-p", folder)
	harness.EventuallyWithin(t, 10*time.Second, "nginx serves", func() bool {
		status, _ := request(http.MethodGet, "http://"+address+"/livez", "")
		return status == http.StatusOK
	})
	return address
}
