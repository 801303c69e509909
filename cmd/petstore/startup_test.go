package main

import (
	"context"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

// TestStartingServerIsAliveButNotReady locks the store, so that the server cannot open it.
func TestStartingServerIsAliveButNotReady(t *testing.T) {
	t.Parallel()
	dir, address := dirWithStore(t), freeAddress(t)
	ctx, cancel := context.WithTimeout(t.Context(), 10*time.Second)
	defer cancel()
	release := lockStore(t, storePath(dir))
	statuses := make(chan map[string]int, 1)
	go func() {
		defer release()
		starting, received := &serverProcess{url: "http://" + address}, map[string]int{}
		for ctx.Err() == nil && len(received) < 3 {
			for _, path := range []string{"/livez", "/readyz", "/v1/pets"} {
				if status, _, err := starting.do(ctx, http.MethodGet, path, ""); err == nil {
					received[path] = status
				}
			}
		}
		statuses <- received
	}()
	s := startServer(t, dir, "--set", "server.address="+address)
	if diff := cmp.Diff(map[string]int{"/livez": 200, "/readyz": 503, "/v1/pets": 503}, <-statuses); diff != "" {
		t.Errorf("during the start (-want +got):\n%s", diff)
	}
	s.wantStatus(t, "/readyz", http.StatusOK)
}

// startLockedServer starts petstore serve with --set and settings on a store that it cannot
// open until release is called.
func startLockedServer(t *testing.T, settings ...string) (s *serverProcess, release func()) {
	t.Helper()
	dir, address := dirWithStore(t), freeAddress(t)
	args := []string{"serve", "--set", "server.address=" + address}
	for _, setting := range settings {
		args = append(args, "--set", setting)
	}
	s = &serverProcess{Cmd: command(t.Context(), dir, args...), url: "http://" + address, log: &syncBuffer{}}
	s.Stderr = s.log
	release = lockStore(t, storePath(dir))
	t.Cleanup(release)
	s.startAndKill(t)
	return s, release
}

func TestStartingServerServesMetrics(t *testing.T) {
	t.Parallel()
	admin := freeAddress(t)
	_, release := startLockedServer(t, "admin.address="+admin)
	client := http.Client{Timeout: time.Second}
	wait := func(line string) {
		t.Helper()
		waitUntil(t, "the metrics have "+line, func() bool {
			request, err := http.NewRequestWithContext(t.Context(), http.MethodGet, "http://"+admin+"/metrics", http.NoBody)
			if err != nil {
				t.Fatal(err)
			}
			_, body, err := sendRequest(&client, request)
			return err == nil && strings.Contains(body, "\n"+line+"\n")
		})
	}
	wait("petstore_ready 0")
	release()
	wait("petstore_ready 1")
}

func TestStartingServerAppliesTheSettingsOfOriginsAndProxies(t *testing.T) {
	t.Parallel()
	const origin = "https://shop.example.com"
	s, _ := startLockedServer(t, "cors.allowed_origins="+origin)
	request, err := http.NewRequestWithContext(t.Context(), http.MethodGet, s.url+"/v1/pets", http.NoBody)
	if err != nil {
		t.Fatal(err)
	}
	request.Header = http.Header{"Origin": {origin}, "X-Forwarded-For": {"192.0.2.7"}}
	waitUntil(t, "the server sends a response", func() bool {
		response, err := http.DefaultClient.Do(request)
		if err != nil {
			return false
		}
		defer response.Body.Close()
		if got := response.Header.Get("Access-Control-Allow-Origin"); response.StatusCode != http.StatusServiceUnavailable || got != origin {
			t.Errorf("got %d with Access-Control-Allow-Origin %q, want 503 with %s", response.StatusCode, got, origin)
		}
		return true
	})
	waitUntil(t, "the request is logged", func() bool { return strings.Contains(s.log.String(), `"client":`) })
	if log := s.log.String(); !strings.Contains(log, `"client":"127.0.0.1"`) {
		t.Errorf("got the log %s, want the address of the client that is no trusted proxy", log)
	}
}
