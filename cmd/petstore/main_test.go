package main

import (
	"bufio"
	"bytes"
	"context"
	"fmt"
	"io"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"sync"
	"testing"
)

// asProgram makes the test binary the program itself, so that tests can start,
// signal and kill real processes without building one.
const asProgram = "TEST_AS_PETSTORE"

func TestMain(m *testing.M) {
	if os.Getenv(asProgram) != "" {
		main()
	}
	os.Exit(m.Run())
}

// command is the program with these arguments, working in a folder.
func command(ctx context.Context, folder string, args ...string) *exec.Cmd {
	cmd := exec.CommandContext(ctx, os.Args[0], args...)
	cmd.Dir = folder
	cmd.Env = append(os.Environ(), asProgram+"=1", "PETSTORE_SERVER_ADDRESS=127.0.0.1:0", "PETSTORE_ADMIN_ADDRESS=")
	return cmd
}

// prepared is the program with these arguments in a folder, after a shell command that
// prepares both.
func prepared(ctx context.Context, folder, prepare string, args ...string) *exec.Cmd {
	cmd := command(ctx, folder, args...)
	cmd.Args = append([]string{"sh", "-c", prepare + ` && exec "$0" "$@"`}, cmd.Args...)
	cmd.Path = "/bin/sh"
	return cmd
}

// output runs the program in a folder to its end.
func output(t *testing.T, folder string, args ...string) (stdout, stderr string, code int) {
	t.Helper()
	var out, errs bytes.Buffer
	cmd := command(t.Context(), folder, args...)
	cmd.Stdout, cmd.Stderr = &out, &errs
	if err := cmd.Run(); err != nil && cmd.ProcessState == nil {
		t.Fatal(err)
	}
	return out.String(), errs.String(), cmd.ProcessState.ExitCode()
}

// A process is petstore serve.
type process struct {
	*exec.Cmd
	page string // to begin at
	url  string
	key  string
	log  *logs
}

// logs is what a process writes to its log, safe to read while it does.
type logs struct {
	mu   sync.Mutex
	text strings.Builder
}

func (l *logs) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.text.Write(p)
}

func (l *logs) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.text.String()
}

var (
	keyForm  = regexp.MustCompile(`petstore_[0-9A-Za-z]{49}`)
	pageForm = regexp.MustCompile(`https?://\S+`)
	urlForm  = regexp.MustCompile(`^https?://[^/]+`)
)

// start serves from a folder, and ends with the test.
func start(t *testing.T, folder string, args ...string) *process {
	t.Helper()
	return startCommand(t, command(t.Context(), folder, append([]string{"serve", "--first-key"}, args...)...))
}

// startWith serves from a folder with more in the environment, and ends with the test.
func startWith(t *testing.T, folder string, environ ...string) *process {
	t.Helper()
	cmd := command(t.Context(), folder, "serve", "--first-key")
	cmd.Env = append(cmd.Env, environ...)
	return startCommand(t, cmd)
}

func startCommand(t *testing.T, cmd *exec.Cmd) *process {
	t.Helper()
	return startWithLog(t, cmd, &logs{})
}

func startWithLog(t *testing.T, cmd *exec.Cmd, log io.Writer) *process {
	t.Helper()
	s := &process{Cmd: cmd}
	s.log, _ = log.(*logs) // nil where the log goes elsewhere
	s.Stderr = log
	stdout, err := s.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := s.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = s.Process.Kill(); _ = s.Wait() })
	for lines := bufio.NewScanner(stdout); s.url == "" && lines.Scan(); {
		if key := keyForm.FindString(lines.Text()); key != "" {
			s.key = key
		}
		s.page = pageForm.FindString(lines.Text())
		s.url = urlForm.FindString(s.page)
	}
	if s.url == "" {
		t.Fatalf("the server did not start: %s", s.log)
	}
	return s
}

// post adds a pet and returns the status and body of the answer.
func (s *process) post(ctx context.Context, body string, headers ...string) (int, string, error) {
	return s.do(ctx, http.MethodPost, "/v1/pets", body, headers...)
}

func (s *process) do(ctx context.Context, method, path, body string, headers ...string) (int, string, error) {
	request, err := http.NewRequestWithContext(ctx, method, s.url+path, strings.NewReader(body))
	if err != nil {
		return 0, "", err
	}
	request.Header.Set("Authorization", "Bearer "+s.key)
	request.Header.Set("Content-Type", "application/json")
	for i := 0; i < len(headers); i += 2 {
		request.Header.Set(headers[i], headers[i+1])
	}
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		return 0, "", err
	}
	defer response.Body.Close()
	answer, err := io.ReadAll(response.Body)
	return response.StatusCode, string(answer), err
}

func database(folder string) string { return filepath.Join(folder, "petstore.db") }

func petBody(name string) string { return fmt.Sprintf(`{"name":%q,"categoryId":1}`, name) }
