package main

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"os/exec"
	"regexp"
	"runtime"
	"strings"
	"syscall"
	"testing"
	"time"
)

// A serverProcess is a running petstore serve.
type serverProcess struct {
	*exec.Cmd
	page string // the URL that --first-key printed
	url  string // without a path
	key  string
	log  *syncBuffer // standard error; nil if that is not a syncBuffer
}

var (
	keyPattern  = regexp.MustCompile(`petstore_[0-9A-Za-z]{49}`)
	pagePattern = regexp.MustCompile(`https?://\S+`)
	urlPattern  = regexp.MustCompile(`^https?://[^/]+`)
)

// startServer starts petstore serve --first-key in dir and waits until it serves requests.
// The process is killed at the end of the test.
func startServer(t *testing.T, dir string, args ...string) *serverProcess {
	t.Helper()
	return startServerCommand(t, command(t.Context(), dir, append([]string{"serve", "--first-key"}, args...)...))
}

// startServerWithEnv is startServer with additional environment variables.
func startServerWithEnv(t *testing.T, dir string, environ ...string) *serverProcess {
	t.Helper()
	cmd := command(t.Context(), dir, "serve", "--first-key")
	cmd.Env = append(cmd.Env, environ...)
	return startServerCommand(t, cmd)
}

// startServerCommand is startServer with a command that runs serve --first-key.
func startServerCommand(t *testing.T, cmd *exec.Cmd) *serverProcess {
	t.Helper()
	return startServerCommandWithLog(t, cmd, &syncBuffer{})
}

// startServerCommandWithLog is startServerCommand with log as the standard error.
func startServerCommandWithLog(t *testing.T, cmd *exec.Cmd, log io.Writer) *serverProcess {
	t.Helper()
	s := &serverProcess{Cmd: cmd}
	s.log, _ = log.(*syncBuffer)
	s.Stderr = log
	stdout, err := s.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	s.startAndKill(t)
	for lines := bufio.NewScanner(stdout); s.url == "" && lines.Scan(); {
		if key := keyPattern.FindString(lines.Text()); key != "" {
			s.key = key
		}
		s.page = pagePattern.FindString(lines.Text())
		s.url = urlPattern.FindString(s.page)
	}
	if s.url == "" {
		t.Fatalf("the server did not start: %s", s.log)
	}
	return s
}

// startAndKill starts the process, and kills it at the end of the test.
func (s *serverProcess) startAndKill(t *testing.T) {
	t.Helper()
	if err := s.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = s.Process.Kill(); _ = s.Wait() })
}

// stop shuts the server down gracefully.
func (s *serverProcess) stop(t *testing.T) {
	t.Helper()
	s.signal(t, syscall.SIGTERM)
	s.wantExitOK(t)
}

func (s *serverProcess) signal(t *testing.T, signal syscall.Signal) {
	t.Helper()
	if err := s.Process.Signal(signal); err != nil {
		t.Fatal(err)
	}
}

// wantExitOK waits until the server exits, for two minutes at most, and expects 0.
func (s *serverProcess) wantExitOK(t *testing.T) {
	t.Helper()
	timeout := time.AfterFunc(2*time.Minute, func() { _ = s.Process.Kill() })
	defer timeout.Stop()
	if err := s.Wait(); err != nil {
		t.Errorf("the server exited with %v: %s", err, s.log)
	}
}

// post adds a pet and returns the status and the body of the response.
func (s *serverProcess) post(ctx context.Context, body string, headers ...string) (int, string, error) {
	return s.do(ctx, http.MethodPost, "/v1/pets", body, headers...)
}

// do sends a request with the server's API key and returns the status and the body of the
// response. headers are alternating names and values.
func (s *serverProcess) do(ctx context.Context, method, path, body string, headers ...string) (int, string, error) {
	request, err := http.NewRequestWithContext(ctx, method, s.url+path, strings.NewReader(body))
	if err != nil {
		return 0, "", err
	}
	request.Header.Set("Authorization", "Bearer "+s.key)
	request.Header.Set("Content-Type", "application/json")
	for i := 0; i < len(headers); i += 2 {
		request.Header.Set(headers[i], headers[i+1])
	}
	return sendRequest(http.DefaultClient, request)
}

// wantStatus sends a GET and expects a status.
func (s *serverProcess) wantStatus(t *testing.T, path string, want int) {
	t.Helper()
	if status, body, err := s.do(t.Context(), http.MethodGet, path, ""); err != nil || status != want {
		t.Errorf("GET %s: got %d %s %v, want %d", path, status, body, err, want)
	}
}

// get sends a GET without an API key.
func get(t *testing.T, url string) (status int, body string) {
	t.Helper()
	request, err := http.NewRequestWithContext(t.Context(), http.MethodGet, url, http.NoBody)
	if err != nil {
		t.Fatal(err)
	}
	status, body, err = sendRequest(http.DefaultClient, request)
	if err != nil {
		t.Fatal(err)
	}
	return status, body
}

// sendRequest sends a request and returns the status and the body of the response.
func sendRequest(client *http.Client, request *http.Request) (status int, body string, err error) {
	response, err := client.Do(request)
	if err != nil {
		return 0, "", err
	}
	defer response.Body.Close()
	text, err := io.ReadAll(response.Body)
	return response.StatusCode, string(text), err
}

// petBody returns the body of a request that adds a pet.
func petBody(name string) string { return fmt.Sprintf(`{"name":%q,"categoryId":1}`, name) }

// waitUntil waits until condition holds, for 10 seconds at most.
func waitUntil(t *testing.T, description string, condition func() bool) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 10*time.Second)
	defer cancel()
	for !condition() {
		if ctx.Err() != nil {
			t.Fatalf("timed out waiting until %s", description)
		}
		runtime.Gosched()
	}
}

// freeAddress returns a TCP address of this machine that no process listens on.
func freeAddress(t *testing.T) string {
	t.Helper()
	listener, err := (&net.ListenConfig{}).Listen(t.Context(), "tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer listener.Close()
	return listener.Addr().String()
}
