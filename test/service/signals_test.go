package service

import (
	"net/http"
	"os"
	"os/signal"
	"strings"
	"syscall"
	"testing"
	"time"

	"example.com/petstore/test/harness"
)

func TestEachSignalStopsTheServer(t *testing.T) {
	t.Parallel()
	// Under nohup, SIGHUP is ignored. A process does not inherit that if its parent handles the signal.
	handled := make(chan os.Signal, 1)
	signal.Notify(handled, syscall.SIGHUP)
	defer signal.Stop(handled)
	for sent, reason := range map[syscall.Signal]string{
		syscall.SIGTERM: "terminated signal received", syscall.SIGINT: "interrupt signal received", syscall.SIGHUP: "hangup signal received",
	} {
		s := harness.Start(t, t.TempDir())
		s.Signal(t, sent)
		s.WantExitOK(t)
		if log := s.Log.String(); !strings.Contains(log, `"msg":"stopping","reason":"`+reason+`"}`) || !strings.HasSuffix(log, "\"msg\":\"stopped\"}\n") {
			t.Errorf("%s: got a log without the reason, or without the entry stopped:\n%s", sent, log)
		}
	}
}

func TestHangupUnderNohupIsIgnored(t *testing.T) {
	t.Parallel()
	s := harness.StartCommand(t, harness.CommandAfter(t.Context(), t.TempDir(), "trap '' HUP", "serve", "--first-key"))
	s.Signal(t, syscall.SIGHUP)
	s.Stop(t)
	if log := s.Log.String(); !strings.Contains(log, `"reason":"terminated signal received"`) {
		t.Errorf("got a log with another reason than SIGTERM:\n%s", log)
	}
}

// Without a WAL the lock also blocks the pragmas of a new connection, which ignore a context.
func TestSignalInterruptsOpeningTheStore(t *testing.T) {
	t.Parallel()
	dir, address := harness.NewStore(t), harness.FreeAddress(t)
	tx, err := harness.OpenSQLite(t, "file:"+harness.StorePath(dir)+"?_journal_mode=DELETE&_txlock=exclusive").BeginTx(t.Context(), nil)
	harness.Check(t, err)
	defer func() { _ = tx.Rollback() }()
	s := harness.Launch(t, harness.Command(t.Context(), dir, "serve", "--set", "server.address="+address), address)
	harness.Eventually(t, "the server listens", func() bool {
		status, _, err := s.Do(t.Context(), http.MethodGet, "/livez", "")
		return err == nil && status == http.StatusOK
	})
	signalled := time.Now()
	s.Signal(t, syscall.SIGTERM)
	_ = s.Wait()
	if took := time.Since(signalled); took > 2*time.Second {
		t.Errorf("got the exit after %s, want it within 2s", took)
	}
	want := "petstore: interrupted while opening the store: terminated signal received\n"
	if code := s.ProcessState.ExitCode(); code != 1 || !strings.HasSuffix(s.Log.String(), want) {
		t.Errorf("got code %d, stderr %s; want 1 and %s", code, s.Log, want)
	}
}
