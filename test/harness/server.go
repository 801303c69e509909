package harness

import (
	"bufio"
	"cmp"
	"fmt"
	"os/exec"
	"regexp"
	"runtime"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"example.com/petstore/internal/test/testkit"
)

// A Server is a running petstore serve.
type Server struct {
	*exec.Cmd
	Page  string // the URL of the page, which --first-key printed
	URL   string // the URL of the server, without a path
	Key   string
	Log   *Buffer       // standard error, nil if it goes elsewhere
	Ended chan struct{} // closed when the process has exited

	err error // the error of the process after it has exited
}

// The patterns of the output of serve --first-key and of keys create.
var (
	KeyPattern  = regexp.MustCompile(`petstore_[0-9A-Za-z]{49}`)
	PagePattern = regexp.MustCompile(`https?://\S+`)
	urlPattern  = regexp.MustCompile(`^https?://[^/]+`)
)

// Start starts petstore serve --first-key in dir and waits until it serves requests. The process is killed
// when the test ends.
func Start(t testing.TB, dir string, args ...string) *Server {
	t.Helper()
	return StartCommand(t, Command(t.Context(), dir, append([]string{"serve", "--first-key"}, args...)...))
}

// StartCommand is Start with a command that runs serve --first-key.
func StartCommand(t testing.TB, cmd *exec.Cmd) *Server {
	t.Helper()
	stdout, err := cmd.StdoutPipe()
	testkit.Check(t, err)
	s := start(t, cmd)
	limit := testkit.Scaled(time.Minute)
	timeout := time.AfterFunc(limit, func() { _ = s.Process.Kill() })
	for lines := bufio.NewScanner(stdout); s.URL == "" && lines.Scan(); {
		s.Key = cmp.Or(KeyPattern.FindString(lines.Text()), s.Key)
		s.Page = PagePattern.FindString(lines.Text())
		s.URL = urlPattern.FindString(s.Page)
	}
	timeout.Stop()
	go s.await()
	if s.URL == "" {
		t.Fatalf("the server did not start within %v: %s", limit, s.Log)
	}
	return s
}

// Launch starts a command that runs petstore serve on an address. It does not wait until the server is
// ready.
func Launch(t testing.TB, cmd *exec.Cmd, address string) *Server {
	t.Helper()
	s := start(t, cmd)
	s.URL = "http://" + address
	go s.await()
	return s
}

// start starts a command. Its process is killed when the test ends. The caller must call await.
func start(t testing.TB, cmd *exec.Cmd) *Server {
	t.Helper()
	s := &Server{Cmd: cmd, Ended: make(chan struct{})}
	if cmd.Stderr == nil {
		cmd.Stderr = &Buffer{}
	}
	s.Log, _ = cmd.Stderr.(*Buffer)
	testkit.Check(t, cmd.Start())
	t.Cleanup(s.Kill)
	return s
}

func (s *Server) await() {
	s.err = s.Cmd.Wait()
	close(s.Ended)
}

// Wait waits until the process has exited, and returns the error of exec.Cmd.Wait.
func (s *Server) Wait() error {
	<-s.Ended
	return s.err
}

// Kill kills the process, and waits until it has exited.
func (s *Server) Kill() {
	_ = s.Process.Kill()
	<-s.Ended
}

// Stop shuts the server down gracefully.
func (s *Server) Stop(t testing.TB) {
	t.Helper()
	s.Signal(t, syscall.SIGTERM)
	s.WantExitOK(t)
}

// Signal sends a signal to the process.
func (s *Server) Signal(t testing.TB, signal syscall.Signal) {
	t.Helper()
	testkit.Check(t, s.Process.Signal(signal))
}

// WantExitOK waits until the server exits, at most two minutes, and expects the exit code 0.
func (s *Server) WantExitOK(t testing.TB) {
	t.Helper()
	timeout := time.AfterFunc(testkit.Scaled(2*time.Minute), func() { _ = s.Process.Kill() })
	defer timeout.Stop()
	if err := s.Wait(); err != nil {
		t.Errorf("the server exited with %v: %s", err, s.Log)
	}
}

// AdminURL returns the URL of the admin listener from the log of the server.
func (s *Server) AdminURL(t testing.TB) string {
	t.Helper()
	pattern := regexp.MustCompile(`"serving metrics and profiles","address":"([^"]+)"`)
	testkit.WaitUntil(t, "the log has the address of the admin listener", func() bool { return pattern.MatchString(s.Log.String()) })
	return "http://" + pattern.FindStringSubmatch(s.Log.String())[1]
}

// Address returns the address of the URL.
func (s *Server) Address() string {
	_, address, _ := strings.Cut(s.URL, "://")
	return address
}

// FreeAddress returns a TCP address of this machine on which no process listens. On Linux, a socket that does not listen is
// bound to the address until the test ends. So the kernel gives the port only to a process that asks for it by its number.
func FreeAddress(t testing.TB) string {
	t.Helper()
	socket, err := unix.Socket(unix.AF_INET, unix.SOCK_STREAM, 0)
	testkit.Check(t, err)
	release := func() { _ = unix.Close(socket) }
	if runtime.GOOS == "linux" { // elsewhere, a process could not listen on the address of another socket
		t.Cleanup(release)
	} else {
		defer release()
	}
	unix.CloseOnExec(socket)
	testkit.Check(t, unix.SetsockoptInt(socket, unix.SOL_SOCKET, unix.SO_REUSEADDR, 1))
	testkit.Check(t, unix.Bind(socket, &unix.SockaddrInet4{Addr: [4]byte{127, 0, 0, 1}}))
	bound, err := unix.Getsockname(socket)
	testkit.Check(t, err)
	return fmt.Sprintf("127.0.0.1:%d", bound.(*unix.SockaddrInet4).Port)
}

// A Buffer is a buffer that is safe for concurrent use.
type Buffer struct {
	mu   sync.Mutex
	text strings.Builder
}

// Write implements io.Writer.
func (b *Buffer) Write(p []byte) (int, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.text.Write(p)
}

// String returns what was written.
func (b *Buffer) String() string {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.text.String()
}

// idPattern matches the standard error of petstore keys create and keys rotate.
var idPattern = regexp.MustCompile(`^petstore: the new API key has the id \d+(; the old one, \d+, is revoked at \S+)?\n$`)

// PrintedKey runs petstore keys with args and returns the key that it prints. If petstore prints anything
// else, except the id of the key, it fails the test.
func PrintedKey(t *testing.T, dir string, args ...string) string {
	t.Helper()
	stdout, stderr, code := Run(t, dir, append([]string{"keys"}, args...)...)
	key := KeyPattern.FindString(stdout)
	if code != 0 || key == "" || stdout != key+"\n" || !idPattern.MatchString(stderr) ||
		strings.Contains(stderr, "; the old one") != (args[0] == "rotate") {
		t.Fatalf("petstore keys %v: got code %d, stdout %q, stderr %q, want only a key", args, code, stdout, stderr)
	}
	return key
}
