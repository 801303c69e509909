package service

import (
	"context"
	"fmt"
	"io/fs"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"example.com/petstore/internal/test/testkit"
	"example.com/petstore/test/harness"
)

// A socketService is petstore serve on the Unix sockets petstore.sock and admin.sock in a folder.
type socketService struct {
	*harness.Server
	path, admin string
}

// startOnSocket starts a socketService with additional arguments and waits until it is ready.
func startOnSocket(t *testing.T, dir string, args ...string) socketService {
	t.Helper()
	s := socketService{path: filepath.Join(dir, "petstore.sock"), admin: filepath.Join(dir, "admin.sock")}
	args = append([]string{"serve", "--set", "server.address=unix:" + s.path, "--set", "admin.address=unix:" + s.admin}, args...)
	s.Server = harness.Launch(t, harness.Command(t.Context(), dir, args...), "petstore")
	testkit.WaitUntil(t, "the service is ready", func() bool {
		status, _ := getFromSocket(t, s.path, "/readyz")
		return status == http.StatusOK
	})
	return s
}

// getFromSocket sends a GET to a Unix socket. headers are as for harness.Request. If nothing listens, the
// status is 0.
func getFromSocket(t *testing.T, path, target string, headers ...string) (status int, body string) {
	t.Helper()
	transport := &http.Transport{DialContext: func(ctx context.Context, _, _ string) (net.Conn, error) {
		return new(net.Dialer).DialContext(ctx, "unix", path)
	}}
	defer transport.CloseIdleConnections()
	s := harness.Server{URL: "http://petstore"}
	request, err := s.Request(t.Context(), http.MethodGet, target, "", headers...)
	testkit.Check(t, err)
	status, body, _ = harness.Send(&http.Client{Transport: transport}, request)
	return status, body
}

// wantClient waits for the line of the access log with the path, and expects the client in it. The path must
// have no route, because the log has the path only of such requests.
func wantClient(t *testing.T, s *harness.Server, path, client string) {
	t.Helper()
	line := regexp.MustCompile(`(?m)"path":"` + path + `".*$`)
	testkit.WaitUntil(t, "the log has "+path, func() bool { return line.MatchString(s.Log.String()) })
	if found := line.FindString(s.Log.String()); !strings.Contains(found, fmt.Sprintf(`"client":%q`, client)) {
		t.Errorf("got the line %s, want the client %q", found, client)
	}
}

func TestServiceListensOnUnixSockets(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	s := startOnSocket(t, dir, "--set", "server.socket_mode=0620")
	for _, path := range []string{s.path, s.admin} {
		info, err := os.Lstat(path)
		if testkit.Check(t, err); info.Mode() != fs.ModeSocket|0o620 {
			t.Errorf("%s has the mode %s, want a socket with that of the setting", path, info.Mode())
		}
	}
	if status, body := getFromSocket(t, s.admin, "/metrics"); status != http.StatusOK || !strings.Contains(body, "\npetstore_ready 1\n") {
		t.Errorf("metrics: got %d %s", status, body)
	}
	getFromSocket(t, s.path, "/none/alone")
	getFromSocket(t, s.path, "/none/forwarded", "X-Forwarded-For", "192.0.2.1, 203.0.113.9:4711")
	wantClient(t, s.Server, "/none/alone", "")
	wantClient(t, s.Server, "/none/forwarded", "203.0.113.9")
	address := "unix:" + s.path
	if got, want := harness.RunOK(t, dir, "healthcheck", "--set", "server.address="+address), "the service at "+address+" is ready\n"; got != want {
		t.Errorf("healthcheck: got %q, want %q", got, want)
	}

	const remedy = " is already in use: stop the process that uses it or set another address"
	harness.WantError(t, dir, "serve --set server.address="+address, "server.address: "+address+remedy)
	harness.WantError(t, dir, "serve --set admin.address="+address, "admin.address: "+address+remedy)
	s.Kill()
	harness.WantError(t, dir, "healthcheck --set server.address="+address,
		"the service at "+address+" is not ready: dial unix "+s.path+": connect: connection refused")
	startOnSocket(t, dir).Stop(t)
	for _, path := range []string{s.path, s.admin} {
		if _, err := os.Lstat(path); !os.IsNotExist(err) {
			t.Errorf("the service has stopped: got %v for %s, want that it is removed", err, path)
		}
	}

	harness.WriteFile(t, dir, "petstore.sock", "text")
	_, stderr, _ := harness.RunCommand(t, harness.CommandWithTimeout(t, dir, "serve", "--set", "server.address="+address))
	if want := "petstore: server.address: cannot listen on " + address + ": the file is not a socket: name another path\n"; stderr != want {
		t.Errorf("on a file: got %q, want %q", stderr, want)
	}
	if text := harness.ReadFile(t, s.path); text != "text" {
		t.Errorf("the file has %q, want it unchanged", text)
	}
}

func TestFirstKeyIsPrintedWithTheSocket(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	path := filepath.Join(dir, "petstore.sock")
	cmd := harness.Command(t.Context(), dir, "serve", "--first-key", "--set", "server.address=unix:"+path)
	stdout := &harness.Buffer{}
	cmd.Stdout = stdout
	harness.Launch(t, cmd, "petstore")
	testkit.WaitUntil(t, "the key and the socket are printed", func() bool {
		return harness.KeyPattern.MatchString(stdout.String()) && strings.HasSuffix(stdout.String(), "\nSocket:     "+path+"\n")
	})
}

// TestNginxUsesTheSocket runs docs/deploy/nginx.conf with its line for a Unix socket.
func TestNginxUsesTheSocket(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	s := startOnSocket(t, dir)
	address := harness.FreeAddress(t)
	site := strings.NewReplacer("listen 80;", "listen "+address+";", "    server 10.0.0.2", "    # server 10.0.0.2",
		"# server unix:/run/petstore/petstore.sock;", "server unix:"+s.path+";").Replace(harness.ReadFile(t, "../../docs/deploy/nginx.conf"))
	harness.WriteFile(t, dir, "nginx.conf", fmt.Sprintf(`daemon off; master_process off; error_log stderr crit; pid %[1]s/pid;
		events { worker_connections 64; }
		http { access_log off; client_body_temp_path %[1]s/a; proxy_temp_path %[1]s/b; fastcgi_temp_path %[1]s/c;
		uwsgi_temp_path %[1]s/d; scgi_temp_path %[1]s/e; %[2]s }`, dir, site))
	cmd := exec.CommandContext(t.Context(), "nginx", "-c", filepath.Join(dir, "nginx.conf"), "-p", dir)
	if cmd.Err != nil {
		cmd = exec.CommandContext(t.Context(), "/usr/sbin/nginx", cmd.Args[1:]...) // not in the PATH of every user
	}
	nginx := harness.Launch(t, cmd, address)
	testkit.WaitUntil(t, "nginx passes requests on", func() bool { return nginx.IsReady(t.Context()) })
	nginx.WantStatus(t, "/none/nginx", http.StatusNotFound)
	wantClient(t, s.Server, "/none/nginx", "127.0.0.1")
}
