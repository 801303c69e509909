package main

import (
	"net/http"
	"strings"
	"syscall"
	"testing"
)

func TestSignalsStopTheServer(t *testing.T) {
	t.Parallel()
	for signal, reason := range map[syscall.Signal]string{
		syscall.SIGTERM: "terminated signal received", syscall.SIGINT: "interrupt signal received", syscall.SIGHUP: "hangup signal received",
	} {
		s := start(t, t.TempDir())
		if err := s.Process.Signal(signal); err != nil {
			t.Fatal(err)
		}
		if err := s.Wait(); err != nil {
			t.Errorf("%s: the server ended with %v", signal, err)
		}
		if log := s.log.String(); !strings.Contains(log, `"msg":"stopping","reason":"`+reason+`"}`) || !strings.HasSuffix(log, "\"msg\":\"stopped\"}\n") {
			t.Errorf("%s: the log does not say so:\n%s", signal, log)
		}
	}
}

func TestHangupUnderNohupIsIgnored(t *testing.T) {
	t.Parallel()
	s := startCommand(t, prepared(t.Context(), t.TempDir(), "trap '' HUP", "serve", "--first-key"))
	if err := s.Process.Signal(syscall.SIGHUP); err != nil {
		t.Fatal(err)
	}
	stop(t, s)
	if log := s.log.String(); !strings.Contains(log, `"reason":"terminated signal received"`) {
		t.Errorf("the log has another reason:\n%s", log)
	}
}

func TestSignalInterruptsOpening(t *testing.T) {
	t.Parallel()
	folder, address := t.TempDir(), freeAddress(t)
	if _, stderr, code := output(t, folder, "migrate", "up"); code != 0 {
		t.Fatal(stderr)
	}
	defer lock(t, database(folder))()
	s := &process{Cmd: command(t.Context(), folder, "serve", "--set", "server.address="+address), url: "http://" + address, log: &logs{}}
	s.Stderr = s.log
	if err := s.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = s.Process.Kill(); _ = s.Wait() })
	until(t, "the server starts", func() bool {
		status, _, err := s.do(t.Context(), http.MethodGet, "/livez", "")
		return err == nil && status == http.StatusOK
	})
	if err := s.Process.Signal(syscall.SIGTERM); err != nil {
		t.Fatal(err)
	}
	_ = s.Wait()
	want := "petstore: interrupted while the store was being opened: terminated signal received\n"
	if code := s.ProcessState.ExitCode(); code != 1 || !strings.HasSuffix(s.log.String(), want) {
		t.Errorf("code %d, stderr %s; want 1 and %s", code, s.log, want)
	}
}
