package service

import (
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"strings"
	"syscall"
	"testing"
	"time"

	"example.com/petstore/test/harness"
)

func TestShutdownFinishesARunningRequest(t *testing.T) {
	t.Parallel()
	s := harness.Start(t, t.TempDir())
	// The server receives the signal while it reads the body of this request.
	reader, writer := io.Pipe()
	request, err := http.NewRequestWithContext(t.Context(), http.MethodPost, s.URL+"/v1/pets", reader)
	harness.Check(t, err)
	request.Header.Set("Authorization", "Bearer "+s.Key)
	request.Header.Set("Content-Type", "application/json")
	status := make(chan int)
	go func() {
		response, err := harness.Client.Do(request)
		if err != nil {
			t.Error(err)
			status <- 0
			return
		}
		defer response.Body.Close()
		status <- response.StatusCode
	}()
	if _, err := io.WriteString(writer, `{"name":"Rex",`); err != nil {
		t.Fatal(err)
	}
	// The server has accepted the request when it has responded to a later one.
	s.AddPet(t, "Tom")
	s.Signal(t, syscall.SIGTERM)
	waitUntilNotListening(t, s)
	if _, err := io.WriteString(writer, `"categoryId":1}`); err != nil {
		t.Fatal(err)
	}
	harness.Check(t, writer.Close())
	if got := <-status; got != http.StatusCreated {
		t.Errorf("running request: got %d, want 201", got)
	}
	s.WantExitOK(t)
	if log := s.Log.String(); !strings.Contains(log, `"stopped"`) || strings.Contains(log, s.Key) {
		t.Errorf("got a log without the entry stopped, or with the API key:\n%s", log)
	}
}

// waitUntilNotListening waits until the server accepts no more connections.
func waitUntilNotListening(t *testing.T, s *harness.Server) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 10*time.Second)
	defer cancel()
	for {
		connection, err := (&net.Dialer{}).DialContext(ctx, "tcp", strings.TrimPrefix(s.URL, "http://"))
		if ctx.Err() != nil {
			t.Fatal("the server still accepts connections")
		}
		if err != nil {
			return
		}
		_ = connection.Close()
	}
}

func TestFirstKeyIsPrintedOnce(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	first := harness.Start(t, dir)
	first.WantStatus(t, "/v1/pets", http.StatusOK)
	if second := harness.Start(t, dir); second.Key != "" {
		t.Error("the second start printed a key")
	}
}

func TestFirstKeyPrintsAURLThatExists(t *testing.T) {
	t.Parallel()
	for _, enabled := range []string{"true", "false"} {
		s := harness.Start(t, t.TempDir(), "--set", "docs.enabled="+enabled)
		s.WantStatus(t, strings.TrimPrefix(s.Page, s.URL), http.StatusOK)
	}
}

func TestAddressInUseCreatesNoStore(t *testing.T) {
	t.Parallel()
	used, err := (&net.ListenConfig{}).Listen(t.Context(), "tcp", "127.0.0.1:0")
	harness.Check(t, err)
	defer used.Close()
	for _, setting := range []string{"server.address", "admin.address"} {
		dir := t.TempDir()
		stdout, stderr, code := harness.Run(t, dir, "serve", "--first-key", "--set", setting+"="+used.Addr().String())
		want := fmt.Sprintf("petstore: %s: %s is already in use: stop the process that uses it or set another address\n", setting, used.Addr())
		if code != 1 || stderr != want || stdout != "" {
			t.Errorf("got code %d, stdout %q, stderr %q; want 1 and stderr %q", code, stdout, stderr, want)
		}
		if _, err := os.Stat(harness.StorePath(dir)); err == nil {
			t.Error("a store was created")
		}
	}
}
