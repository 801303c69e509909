package main

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"strings"
	"syscall"
	"testing"
	"time"
)

// nextPage reads a page and returns the path of the next one, or "" after the last.
func nextPage(t *testing.T, s *serverProcess, path string, page any) string {
	t.Helper()
	request, err := http.NewRequestWithContext(t.Context(), http.MethodGet, s.url+path, http.NoBody)
	if err != nil {
		t.Fatal(err)
	}
	request.Header.Set("Authorization", "Bearer "+s.key)
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		t.Fatal(err)
	}
	defer response.Body.Close()
	if err := json.NewDecoder(response.Body).Decode(page); err != nil || response.StatusCode != http.StatusOK {
		t.Fatalf("got %d, %v, want 200", response.StatusCode, err)
	}
	link, _, linked := strings.Cut(strings.TrimPrefix(response.Header.Get("Link"), "<"), ">")
	if !linked {
		return ""
	}
	collection, _, _ := strings.Cut(path, "?")
	return collection + link
}

// A record is a pet or an order.
type record struct{ ID int64 }

// records reads all pages.
func (s *serverProcess) records(t *testing.T, path string) (all []record) {
	t.Helper()
	for path != "" {
		var page []record
		path = nextPage(t, s, path, &page)
		all = append(all, page...)
	}
	return all
}

func TestShutdownFinishesARunningRequest(t *testing.T) {
	t.Parallel()
	s := startServer(t, t.TempDir())
	// The server receives the signal while it reads the body of this request.
	reader, writer := io.Pipe()
	request, err := http.NewRequestWithContext(t.Context(), http.MethodPost, s.url+"/v1/pets", reader)
	if err != nil {
		t.Fatal(err)
	}
	request.Header.Set("Authorization", "Bearer "+s.key)
	request.Header.Set("Content-Type", "application/json")
	status := make(chan int)
	go func() {
		response, err := http.DefaultClient.Do(request)
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
	if status, body, err := s.post(t.Context(), petBody("Tom")); err != nil || status != http.StatusCreated {
		t.Fatal(status, body, err)
	}
	s.signal(t, syscall.SIGTERM)
	waitUntilNotListening(t, s)
	if _, err := io.WriteString(writer, `"categoryId":1}`); err != nil {
		t.Fatal(err)
	}
	if err := writer.Close(); err != nil {
		t.Fatal(err)
	}
	if got := <-status; got != http.StatusCreated {
		t.Errorf("running request: got %d, want 201", got)
	}
	s.wantExitOK(t)
	if log := s.log.String(); !strings.Contains(log, `"stopped"`) || strings.Contains(log, s.key) {
		t.Errorf("got a log without the entry stopped, or with the API key:\n%s", log)
	}
}

// waitUntilNotListening waits until the server accepts no more connections.
func waitUntilNotListening(t *testing.T, s *serverProcess) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 10*time.Second)
	defer cancel()
	for {
		connection, err := (&net.Dialer{}).DialContext(ctx, "tcp", strings.TrimPrefix(s.url, "http://"))
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
	first := startServer(t, dir)
	first.wantStatus(t, "/v1/pets", http.StatusOK)
	if second := startServer(t, dir); second.key != "" {
		t.Error("the second start printed a key")
	}
}

func TestFirstKeyPrintsAURLThatExists(t *testing.T) {
	t.Parallel()
	for _, enabled := range []string{"true", "false"} {
		s := startServer(t, t.TempDir(), "--set", "docs.enabled="+enabled)
		s.wantStatus(t, strings.TrimPrefix(s.page, s.url), http.StatusOK)
	}
}

func TestAddressInUseCreatesNoStore(t *testing.T) {
	t.Parallel()
	used, err := (&net.ListenConfig{}).Listen(t.Context(), "tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer used.Close()
	for _, setting := range []string{"server.address", "admin.address"} {
		dir := t.TempDir()
		stdout, stderr, code := runPetstore(t, dir, "serve", "--first-key", "--set", setting+"="+used.Addr().String())
		want := fmt.Sprintf("petstore: %s: %s is already in use: stop the process that uses it or set another address\n", setting, used.Addr())
		if code != 1 || stderr != want || stdout != "" {
			t.Errorf("got code %d, stdout %q, stderr %q; want 1 and stderr %q", code, stdout, stderr, want)
		}
		if _, err := os.Stat(storePath(dir)); err == nil {
			t.Error("a store was created")
		}
	}
}
