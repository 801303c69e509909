package main

import (
	"net/http"
	"os"
	"os/signal"
	"strings"
	"syscall"
	"testing"
	"time"
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
		s := startServer(t, t.TempDir())
		s.signal(t, sent)
		s.wantExitOK(t)
		if log := s.log.String(); !strings.Contains(log, `"msg":"stopping","reason":"`+reason+`"}`) || !strings.HasSuffix(log, "\"msg\":\"stopped\"}\n") {
			t.Errorf("%s: got a log without the reason, or without the entry stopped:\n%s", sent, log)
		}
	}
}

func TestHangupUnderNohupIsIgnored(t *testing.T) {
	t.Parallel()
	s := startServerCommand(t, commandAfter(t.Context(), t.TempDir(), "trap '' HUP", "serve", "--first-key"))
	s.signal(t, syscall.SIGHUP)
	s.stop(t)
	if log := s.log.String(); !strings.Contains(log, `"reason":"terminated signal received"`) {
		t.Errorf("got a log with another reason than SIGTERM:\n%s", log)
	}
}

// Without a WAL the lock also blocks the pragmas of a new connection, which ignore a context.
func TestSignalInterruptsOpeningTheStore(t *testing.T) {
	t.Parallel()
	dir, address := dirWithStore(t), freeAddress(t)
	tx, err := openSQLite(t, "file:"+storePath(dir)+"?_journal_mode=DELETE&_txlock=exclusive").BeginTx(t.Context(), nil)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = tx.Rollback() }()
	s := &serverProcess{Cmd: command(t.Context(), dir, "serve", "--set", "server.address="+address), url: "http://" + address, log: &syncBuffer{}}
	s.Stderr = s.log
	s.startAndKill(t)
	waitUntil(t, "the server listens", func() bool {
		status, _, err := s.do(t.Context(), http.MethodGet, "/livez", "")
		return err == nil && status == http.StatusOK
	})
	signalled := time.Now()
	s.signal(t, syscall.SIGTERM)
	_ = s.Wait()
	if took := time.Since(signalled); took > 2*time.Second {
		t.Errorf("got the exit after %s, want it within 2s", took)
	}
	want := "petstore: interrupted while opening the store: terminated signal received\n"
	if code := s.ProcessState.ExitCode(); code != 1 || !strings.HasSuffix(s.log.String(), want) {
		t.Errorf("got code %d, stderr %s; want 1 and %s", code, s.log, want)
	}
}
