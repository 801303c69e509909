package service

import (
	"fmt"
	"io"
	"net/http"
	"regexp"
	"strings"
	"syscall"
	"testing"
	"time"

	"example.com/petstore/test/harness"
)

func TestServerServesAndStopsWhileItsLogBlocks(t *testing.T) {
	t.Parallel()
	for name, read := range map[string]bool{"read later": true, "never read": false} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			reader, stderr := harness.UnreadPipe(t)
			admin := harness.FreeAddress(t)
			cmd := harness.CommandWithTimeout(t, t.TempDir(), "serve", "--first-key", "--set", "admin.address="+admin, "--set", "server.shutdown_timeout=7s")
			cmd.Stderr = stderr
			s := harness.StartCommand(t, cmd)
			count := regexp.MustCompile(`\npetstore_log_dropped_lines_total ([1-9]\d*)\n`)
			var dropped []string
			harness.EventuallyWithin(t, harness.CommandTimeout, "a log line was dropped", func() bool {
				for range 1000 {
					s.WantStatus(t, "/livez", http.StatusOK)
				}
				_, metrics := harness.Get(t, "http://"+admin+"/metrics")
				dropped = count.FindStringSubmatch(metrics)
				return dropped != nil
			})
			if read {
				_ = stderr.Close() // the process has its own descriptor
				var log harness.Buffer
				go func() { _, _ = io.Copy(&log, reader) }()
				report := fmt.Sprintf(`"msg":"log lines dropped","lines":%s}`, dropped[1])
				harness.Eventually(t, "the log contains "+report, func() bool { return strings.Contains(log.String(), report) })
			}
			s.Stop(t)
		})
	}
}

func TestFirstKeyIsPrintedWhenStandardOutputIsRead(t *testing.T) {
	t.Parallel()
	for name, read := range map[string]bool{"read later": true, "never read": false} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			reader, stdout := harness.FullPipe(t)
			dir, address := t.TempDir(), harness.FreeAddress(t)
			cmd := harness.CommandWithTimeout(t, dir, "serve", "--first-key", "--set", "server.address="+address)
			cmd.Stdout = stdout
			s := harness.Launch(t, cmd, address)
			harness.Eventually(t, "the log has a warning", func() bool { return strings.Contains(s.Log.String(), "standard output blocks") })
			s.WantStatus(t, "/readyz", http.StatusOK)
			if read {
				_ = stdout.Close() // the process has its own descriptor
				var printed harness.Buffer
				go func() { _, _ = io.Copy(&printed, reader) }()
				harness.Eventually(t, "the API key is printed", func() bool { return harness.KeyPattern.MatchString(printed.String()) })
				s.Stop(t)
				return
			}
			s.Signal(t, syscall.SIGTERM)
			if err := s.Wait(); s.ProcessState.ExitCode() != 1 || !strings.Contains(s.Log.String(), "the API key was created but not printed: standard output: the write is blocked: revoke it") {
				t.Errorf("got %v and the log %s, want exit code 1 and the error", err, s.Log)
			}
		})
	}
}

// TestServerExitsWithinItsShutdownTimeouts locks the store, so that a request and the update
// of the last use of its key after it take longer than the shutdown timeout.
func TestServerExitsWithinItsShutdownTimeouts(t *testing.T) {
	t.Parallel()
	dir, admin := t.TempDir(), harness.FreeAddress(t)
	s := harness.Start(t, dir, "--set", "server.shutdown_timeout=7s", "--set", "admin.address="+admin)
	defer harness.LockStore(t, harness.StorePath(dir))()
	go func() { _, _, _ = s.Post(t.Context(), harness.PetBody("Rex")) }()
	harness.Eventually(t, "the request is in flight", func() bool {
		_, metrics := harness.Get(t, "http://"+admin+"/metrics")
		return strings.Contains(metrics, "\npetstore_http_requests_in_flight 1\n")
	})
	signalled := time.Now()
	s.Signal(t, syscall.SIGTERM)
	err := s.Wait()
	if took := time.Since(signalled); took > 7500*time.Millisecond || s.ProcessState.ExitCode() != 1 {
		t.Errorf("got %v after %s, want exit code 1 within 7.5s", err, took)
	}
	if !strings.Contains(s.Log.String(), `"msg":"shutdown timed out, exiting","limit":7}`) {
		t.Errorf("the log has no entry about the timeout:\n%s", s.Log)
	}
}
