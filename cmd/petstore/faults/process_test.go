//go:build faults

package faults

import (
	"bufio"
	"bytes"
	"context"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"
)

// A server is a running petstore serve.
type server struct {
	cmd   *exec.Cmd
	url   string
	admin string // the URL of the admin listener
	key   string
	ready time.Duration // from the start of the process until /readyz was 200
	log   *output
	ended chan struct{} // closed when the process has exited
}

var (
	keyPattern   = regexp.MustCompile(`petstore_[0-9A-Za-z]{49}`)
	urlPattern   = regexp.MustCompile(`https?://[^/\s]+`)
	adminPattern = regexp.MustCompile(`"serving metrics and profiles","address":"([^"]+)"`)
)

// httpClient sends single requests: without a timeout, a server that sends no response would delay a
// test until that of go test.
var httpClient = &http.Client{Timeout: 10 * time.Second}

func storePath(folder string) string { return filepath.Join(folder, "petstore.db") }

// petstore returns a command that runs petstore in a folder, with additional environment
// variables.
func petstore(t *testing.T, folder string, environ []string, args ...string) *exec.Cmd {
	t.Helper()
	cmd := exec.CommandContext(context.WithoutCancel(t.Context()), program, args...)
	cmd.Args[0] = "petstore" // the name in hints
	cmd.Dir = folder
	cmd.Env = append(append(os.Environ(), "PETSTORE_SERVER_ADDRESS=127.0.0.1:0", "PETSTORE_ADMIN_ADDRESS=127.0.0.1:0"), environ...)
	return cmd
}

// start starts a server in a folder and waits until it is ready. key is that of an earlier
// server on the store. The process is killed when the test ends.
func start(t *testing.T, folder, key string, environ ...string) *server {
	t.Helper()
	s := launch(t, folder, environ...)
	if key != "" {
		s.key = key
	}
	begun := time.Now()
	for !s.isReady() {
		select {
		case <-s.ended:
			t.Fatalf("the server exited: %s", s.log)
		case <-time.After(5 * time.Millisecond):
		}
		if time.Since(begun) > 30*time.Second {
			t.Fatalf("the server is not ready after 30s: %s", s.log)
		}
	}
	s.ready += time.Since(begun)
	for ; s.admin == "" && time.Since(begun) < 30*time.Second; time.Sleep(time.Millisecond) {
		if match := adminPattern.FindStringSubmatch(s.log.String()); match != nil {
			s.admin = "http://" + match[1]
		}
	}
	return s
}

// launch starts a server and waits until it has printed its URL, or has exited.
func launch(t *testing.T, folder string, environ ...string) *server {
	t.Helper()
	s := &server{cmd: petstore(t, folder, environ, "serve", "--first-key"), log: &output{}, ended: make(chan struct{})}
	s.cmd.Stderr = s.log
	stdout, err := s.cmd.StdoutPipe()
	check(t, err)
	begun := time.Now()
	check(t, s.cmd.Start())
	t.Cleanup(func() { s.kill() })
	timeout := time.AfterFunc(30*time.Second, func() {
		t.Errorf("the server has printed no URL after 30s: %s", s.log)
		_ = s.cmd.Process.Kill()
	})
	defer timeout.Stop()
	for lines := bufio.NewScanner(stdout); s.url == "" && lines.Scan(); {
		if key := keyPattern.FindString(lines.Text()); key != "" {
			s.key = key
		}
		s.url = urlPattern.FindString(lines.Text())
	}
	s.ready = time.Since(begun)
	go func() { _ = s.cmd.Wait(); close(s.ended) }()
	return s
}

func (s *server) isReady() bool {
	response, err := httpClient.Get(s.url + "/readyz")
	if err != nil {
		return false
	}
	response.Body.Close()
	return response.StatusCode == http.StatusOK
}

// kill kills the process, and waits until it has exited.
func (s *server) kill() {
	_ = s.cmd.Process.Kill()
	<-s.ended
}

// stop stops the process with SIGTERM, and expects the exit status 0.
func (s *server) stop(t *testing.T) {
	t.Helper()
	check(t, s.cmd.Process.Signal(syscall.SIGTERM))
	<-s.ended
	if code := s.cmd.ProcessState.ExitCode(); code != 0 {
		t.Errorf("the server exited with %d: %s", code, s.log)
	}
}

// An output is what a process has written, without its access log, which would be large after a
// long run. It is safe for concurrent use.
type output struct {
	mu   sync.Mutex
	text strings.Builder
	rest []byte // of an incomplete line
}

// Write implements io.Writer.
func (o *output) Write(p []byte) (int, error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.rest = append(o.rest, p...)
	for line := range bytes.Lines(o.rest) {
		if !bytes.HasSuffix(line, []byte("\n")) {
			break
		}
		if !bytes.HasPrefix(line, []byte("{")) || !bytes.Contains(line, []byte(`"msg":"request"`)) {
			o.text.Write(line)
		}
		o.rest = o.rest[len(line):]
	}
	return len(p), nil
}

func (o *output) String() string {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.text.String() + string(o.rest)
}

func check(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}
