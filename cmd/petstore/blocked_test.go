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

// blockedLimit is after how long a process that hangs is killed.
const blockedLimit = time.Minute

// commandWithLimit is a command that is killed after blockedLimit.
func commandWithLimit(t *testing.T, folder string, args ...string) *exec.Cmd {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), blockedLimit)
	t.Cleanup(cancel)
	return command(ctx, folder, args...)
}

// unreadPipe returns a pipe that is open and, once filled, blocks whoever writes to it.
func unreadPipe(t *testing.T) (reader, writer *os.File) {
	t.Helper()
	reader, writer, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = reader.Close(); _ = writer.Close() })
	return reader, writer
}

// fullPipe returns a pipe that blocks whoever writes to it.
func fullPipe(t *testing.T) (reader, writer *os.File) {
	t.Helper()
	reader, writer = unreadPipe(t)
	if err := writer.SetWriteDeadline(time.Now().Add(100 * time.Millisecond)); err != nil {
		t.Fatal(err)
	}
	if _, err := writer.Write(make([]byte, 16<<20)); !errors.Is(err, os.ErrDeadlineExceeded) {
		t.Fatalf("the pipe is not full: %v", err)
	}
	return reader, writer
}

// startUnread serves with outputs that nobody reads, and returns once it is ready.
func startUnread(t *testing.T, stdout, stderr *os.File, args ...string) *process {
	t.Helper()
	folder, address := t.TempDir(), freeAddress(t)
	key, problem, code := output(t, folder, "keys", "create", "--name", "n")
	if code != 0 {
		t.Fatal(problem)
	}
	args = append([]string{"serve", "--set", "server.address=" + address, "--set", "server.shutdown_timeout=6s"}, args...)
	s := &process{Cmd: commandWithLimit(t, folder, args...), url: "http://" + address, key: strings.TrimSpace(key)}
	s.Stdout, s.Stderr = stdout, stderr
	if err := s.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = s.Process.Kill(); _ = s.Wait() })
	until(t, "the server is ready", func() bool {
		status, _, err := s.do(t.Context(), http.MethodGet, "/readyz", "")
		return err == nil && status == http.StatusOK
	})
	return s
}

func TestServerWhoseLogIsNotReadServesAndStops(t *testing.T) {
	t.Parallel()
	for name, read := range map[string]bool{"read again": true, "never read": false} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			reader, stderr := unreadPipe(t)
			admin := freeAddress(t)
			s := startUnread(t, nil, stderr, "--set", "admin.address="+admin)
			count := regexp.MustCompile(`\npetstore_log_dropped_lines_total ([1-9]\d*)\n`)
			var dropped []string
			for began := time.Now(); dropped == nil; {
				if time.Since(began) > blockedLimit {
					t.Fatal("no line was dropped: the log is not bounded")
				}
				s.getMany(t, 1000)
				_, metrics := fetch(t, "http://"+admin+"/metrics")
				dropped = count.FindStringSubmatch(metrics)
			}
			if read {
				_ = stderr.Close() // the process has its own
				var log logs
				go func() { _, _ = io.Copy(&log, reader) }()
				report := fmt.Sprintf(`"msg":"log lines dropped","lines":%s}`, dropped[1])
				until(t, "the log has "+report, func() bool { return strings.Contains(log.String(), report) })
			}
			stop(t, s)
		})
	}
}

// getMany sends n requests over a few connections.
func (s *process) getMany(t *testing.T, n int) {
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
				if status, _, err := finish(client, request); err != nil || status != http.StatusOK {
					t.Errorf("/livez: %d %v", status, err)
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

func TestFirstKeyWaitsForItsReader(t *testing.T) {
	t.Parallel()
	for name, read := range map[string]bool{"read later": true, "never read": false} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			reader, stdout := fullPipe(t)
			folder, address := t.TempDir(), freeAddress(t)
			s := &process{Cmd: commandWithLimit(t, folder, "serve", "--first-key", "--set", "server.address="+address), url: "http://" + address, log: &logs{}}
			s.Stdout, s.Stderr = stdout, s.log
			if err := s.Start(); err != nil {
				t.Fatal(err)
			}
			t.Cleanup(func() { _ = s.Process.Kill(); _ = s.Wait() })
			until(t, "the log warns of it", func() bool { return strings.Contains(s.log.String(), "standard output is not read") })
			if status, answer, err := s.do(t.Context(), http.MethodGet, "/readyz", ""); err != nil || status != http.StatusOK {
				t.Errorf("/readyz: %d %s %v", status, answer, err)
			}
			if read {
				_ = stdout.Close() // the process has its own
				var printed logs
				go func() { _, _ = io.Copy(&printed, reader) }()
				until(t, "the key is printed", func() bool { return keyForm.MatchString(printed.String()) })
				stop(t, s)
				return
			}
			if err := s.Process.Signal(syscall.SIGTERM); err != nil {
				t.Fatal(err)
			}
			if err := s.Wait(); s.ProcessState.ExitCode() != 1 || !strings.Contains(s.log.String(), "was issued but could not be shown, revoke it") {
				t.Errorf("it ended with %v: %s", err, s.log)
			}
		})
	}
}

func TestErrorThatNobodyReadsEndsTheProcess(t *testing.T) {
	t.Parallel()
	_, stderr := fullPipe(t)
	for _, args := range [][]string{{"serve", "--set", "log.level=loud"}, {"keys", "revoke", "x"}} {
		cmd := commandWithLimit(t, t.TempDir(), args...)
		cmd.Stderr = stderr
		if err := cmd.Run(); cmd.ProcessState.ExitCode() != 2 {
			t.Errorf("%v ended with %v", args, err)
		}
	}
}

// TestServerStopsWithinItsLimit locks the store, so that a request and the last uses of
// keys that are written after it take longer together than the server may take to stop.
func TestServerStopsWithinItsLimit(t *testing.T) {
	t.Parallel()
	folder, admin := t.TempDir(), freeAddress(t)
	s := start(t, folder, "--set", "server.shutdown_timeout=6s", "--set", "admin.address="+admin)
	defer lock(t, database(folder))()
	go func() { _, _, _ = s.post(t.Context(), petBody("Rex")) }()
	until(t, "the request runs", func() bool {
		_, metrics := fetch(t, "http://"+admin+"/metrics")
		return strings.Contains(metrics, "\npetstore_http_requests_in_flight 1\n")
	})
	signalled := time.Now()
	if err := s.Process.Signal(syscall.SIGTERM); err != nil {
		t.Fatal(err)
	}
	err := s.Wait()
	if took := time.Since(signalled); took > 8*time.Second || s.ProcessState.ExitCode() != 1 {
		t.Errorf("it ended after %s with %v", took, err)
	}
	if !strings.Contains(s.log.String(), `"msg":"not stopped in time, exiting","limit":6}`) {
		t.Errorf("the log does not say why it ended:\n%s", s.log)
	}
}
