package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"os/exec"
	"regexp"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"
)

// commandTimeout is how long a process that may hang runs until it is killed.
const commandTimeout = time.Minute

// commandWithTimeout is command, but kills the process after commandTimeout.
func commandWithTimeout(t *testing.T, dir string, args ...string) *exec.Cmd {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), commandTimeout)
	t.Cleanup(cancel)
	return command(ctx, dir, args...)
}

// unreadPipe returns a pipe without a reading process. Writes to it block once it is full.
func unreadPipe(t *testing.T) (reader, writer *os.File) {
	t.Helper()
	reader, writer, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = reader.Close(); _ = writer.Close() })
	return reader, writer
}

// fullPipe returns a pipe to which every write blocks.
func fullPipe(t *testing.T) (reader, writer *os.File) {
	t.Helper()
	reader, writer = unreadPipe(t)
	for written := 1; written > 0; { // on a loaded machine, the first deadline may pass before the pipe is full
		err := writer.SetWriteDeadline(time.Now().Add(100 * time.Millisecond))
		if err == nil {
			written, err = writer.Write(make([]byte, 1<<20))
		}
		if !errors.Is(err, os.ErrDeadlineExceeded) {
			t.Fatalf("filling the pipe: got %v, want a timeout", err)
		}
	}
	return reader, writer
}

// startServerWithStderr starts a server that logs to stderr and waits until it is ready.
func startServerWithStderr(t *testing.T, stderr *os.File, args ...string) *serverProcess {
	t.Helper()
	dir, address := t.TempDir(), freeAddress(t)
	key, stderrText, code := runPetstore(t, dir, "keys", "create", "--name", "n")
	if code != 0 {
		t.Fatal(stderrText)
	}
	args = append([]string{"serve", "--set", "server.address=" + address, "--set", "server.shutdown_timeout=7s"}, args...)
	s := &serverProcess{Cmd: commandWithTimeout(t, dir, args...), url: "http://" + address, key: strings.TrimSpace(key)}
	s.Stderr = stderr
	s.startAndKill(t)
	waitUntil(t, "the server is ready", func() bool {
		status, _, err := s.do(t.Context(), http.MethodGet, "/readyz", "")
		return err == nil && status == http.StatusOK
	})
	return s
}

func TestServerServesAndStopsWhileItsLogBlocks(t *testing.T) {
	t.Parallel()
	for name, read := range map[string]bool{"read later": true, "never read": false} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			reader, stderr := unreadPipe(t)
			admin := freeAddress(t)
			s := startServerWithStderr(t, stderr, "--set", "admin.address="+admin)
			count := regexp.MustCompile(`\npetstore_log_dropped_lines_total ([1-9]\d*)\n`)
			var dropped []string
			for start := time.Now(); dropped == nil; {
				if time.Since(start) > commandTimeout {
					t.Fatal("no log line was dropped")
				}
				s.requestLivez(t, 1000)
				_, metrics := get(t, "http://"+admin+"/metrics")
				dropped = count.FindStringSubmatch(metrics)
			}
			if read {
				_ = stderr.Close() // the process has its own descriptor
				var log syncBuffer
				go func() { _, _ = io.Copy(&log, reader) }()
				report := fmt.Sprintf(`"msg":"log lines dropped","lines":%s}`, dropped[1])
				waitUntil(t, "the log contains "+report, func() bool { return strings.Contains(log.String(), report) })
			}
			s.stop(t)
		})
	}
}

// requestLivez sends n requests for /livez over eight connections.
func (s *serverProcess) requestLivez(t *testing.T, n int) {
	t.Helper()
	const clients = 8
	client := &http.Client{Transport: &http.Transport{MaxIdleConnsPerHost: clients}, Timeout: 10 * time.Second}
	defer client.CloseIdleConnections()
	var wait sync.WaitGroup
	for range clients {
		wait.Go(func() {
			for range n / clients {
				request, err := http.NewRequestWithContext(t.Context(), http.MethodGet, s.url+"/livez", http.NoBody)
				if err != nil {
					t.Error(err)
					return
				}
				if status, _, err := sendRequest(client, request); err != nil || status != http.StatusOK {
					t.Errorf("GET /livez: got %d %v, want 200", status, err)
					return
				}
			}
		})
	}
	wait.Wait()
	if t.Failed() {
		t.FailNow()
	}
}

func TestFirstKeyIsPrintedWhenStandardOutputIsRead(t *testing.T) {
	t.Parallel()
	for name, read := range map[string]bool{"read later": true, "never read": false} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			reader, stdout := fullPipe(t)
			dir, address := t.TempDir(), freeAddress(t)
			s := &serverProcess{Cmd: commandWithTimeout(t, dir, "serve", "--first-key", "--set", "server.address="+address), url: "http://" + address, log: &syncBuffer{}}
			s.Stdout, s.Stderr = stdout, s.log
			s.startAndKill(t)
			waitUntil(t, "the log has a warning", func() bool { return strings.Contains(s.log.String(), "standard output blocks") })
			s.wantStatus(t, "/readyz", http.StatusOK)
			if read {
				_ = stdout.Close() // the process has its own descriptor
				var printed syncBuffer
				go func() { _, _ = io.Copy(&printed, reader) }()
				waitUntil(t, "the API key is printed", func() bool { return keyPattern.MatchString(printed.String()) })
				s.stop(t)
				return
			}
			s.signal(t, syscall.SIGTERM)
			if err := s.Wait(); s.ProcessState.ExitCode() != 1 || !strings.Contains(s.log.String(), "the API key was created but not printed: standard output: the write is blocked: revoke it") {
				t.Errorf("got %v and the log %s, want exit code 1 and the error", err, s.log)
			}
		})
	}
}

// TestServerExitsWithinItsShutdownTimeouts locks the store, so that a request and the update
// of the last use of its key after it take longer than the shutdown timeout.
func TestServerExitsWithinItsShutdownTimeouts(t *testing.T) {
	t.Parallel()
	dir, admin := t.TempDir(), freeAddress(t)
	s := startServer(t, dir, "--set", "server.shutdown_timeout=7s", "--set", "admin.address="+admin)
	defer lockStore(t, storePath(dir))()
	go func() { _, _, _ = s.post(t.Context(), petBody("Rex")) }()
	waitUntil(t, "the request is in flight", func() bool {
		_, metrics := get(t, "http://"+admin+"/metrics")
		return strings.Contains(metrics, "\npetstore_http_requests_in_flight 1\n")
	})
	signalled := time.Now()
	s.signal(t, syscall.SIGTERM)
	err := s.Wait()
	if took := time.Since(signalled); took > 7500*time.Millisecond || s.ProcessState.ExitCode() != 1 {
		t.Errorf("got %v after %s, want exit code 1 within 7.5s", err, took)
	}
	if !strings.Contains(s.log.String(), `"msg":"shutdown timed out, exiting","limit":7}`) {
		t.Errorf("the log has no entry about the timeout:\n%s", s.log)
	}
}
