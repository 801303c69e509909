package service

import (
	"bufio"
	"context"
	"fmt"
	"net"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"example.com/petstore/test/harness"
)

// TestStartingServerIsAliveButNotReady locks the store, so that the server cannot open it.
func TestStartingServerIsAliveButNotReady(t *testing.T) {
	t.Parallel()
	dir, address := harness.NewStore(t), harness.FreeAddress(t)
	ctx, cancel := context.WithTimeout(t.Context(), 10*time.Second)
	defer cancel()
	release := harness.LockStore(t, harness.StorePath(dir))
	statuses := make(chan map[string]int, 1)
	go func() {
		defer release()
		starting, received := &harness.Server{URL: "http://" + address}, map[string]int{}
		for ctx.Err() == nil && len(received) < 3 {
			for _, path := range []string{"/livez", "/readyz", "/v1/pets"} {
				if status, _, err := starting.Do(ctx, http.MethodGet, path, ""); err == nil {
					received[path] = status
				}
			}
		}
		statuses <- received
	}()
	s := harness.Start(t, dir, "--set", "server.address="+address)
	if diff := cmp.Diff(map[string]int{"/livez": 200, "/readyz": 503, "/v1/pets": 503}, <-statuses); diff != "" {
		t.Errorf("during the start (-want +got):\n%s", diff)
	}
	s.WantStatus(t, "/readyz", http.StatusOK)
}

// startServerWithoutStore starts petstore serve with --set and settings. It never opens its
// store: the server of its DSN accepts a connection and sends nothing.
func startServerWithoutStore(t *testing.T, settings ...string) *harness.Server {
	t.Helper()
	silent, err := (&net.ListenConfig{}).Listen(t.Context(), "tcp", "127.0.0.1:0")
	harness.Check(t, err)
	t.Cleanup(func() { _ = silent.Close() })
	dsn := "postgres://" + silent.Addr().String() + "/pets?sslmode=disable&connect_timeout=3600"
	address := harness.FreeAddress(t)
	args := []string{"serve"}
	for _, setting := range append(settings, "server.address="+address, "database.driver=postgres", "database.dsn="+dsn) {
		args = append(args, "--set", setting)
	}
	s := harness.Launch(t, harness.Command(t.Context(), t.TempDir(), args...), address)
	return s
}

func TestStartingServerServesMetrics(t *testing.T) {
	t.Parallel()
	starting := startServerWithoutStore(t, "admin.address=127.0.0.1:0").AdminURL(t)
	_, started := harness.StartWithAdmin(t)
	for admin, want := range map[string]string{starting: "petstore_ready 0", started: "petstore_ready 1"} {
		if _, metrics := harness.Get(t, admin+"/metrics"); !strings.Contains(metrics, "\n"+want+"\n") {
			t.Errorf("got the metrics %s, want %s", metrics, want)
		}
	}
}

func TestStartingServerAppliesTheSettingsOfOriginsAndProxies(t *testing.T) {
	t.Parallel()
	const origin = "https://shop.example.com"
	s := startServerWithoutStore(t, "cors.allowed_origins="+origin)
	harness.Eventually(t, "the server sends a response", func() bool {
		request, err := s.Request(t.Context(), http.MethodGet, "/v1/pets", "", "Origin", origin, "X-Forwarded-For", "192.0.2.7")
		harness.Check(t, err)
		response, err := harness.Client.Do(request)
		if err != nil {
			return false
		}
		defer response.Body.Close()
		if got := response.Header.Get("Access-Control-Allow-Origin"); response.StatusCode != http.StatusServiceUnavailable || got != origin {
			t.Errorf("got %d with Access-Control-Allow-Origin %q, want 503 with %s", response.StatusCode, got, origin)
		}
		return true
	})
	harness.Eventually(t, "the request is logged", func() bool { return strings.Contains(s.Log.String(), `"client":`) })
	if log := s.Log.String(); !strings.Contains(log, `"client":"127.0.0.1"`) {
		t.Errorf("got the log %s, want the address of the client that is no trusted proxy", log)
	}
}

// net/http waits for the rest of a body before it sends a response, until the read deadline.
func TestStartingServerAppliesTheRequestTimeout(t *testing.T) {
	t.Parallel()
	dir, address := harness.NewStore(t), harness.FreeAddress(t)
	ctx, cancel := context.WithTimeout(t.Context(), 10*time.Second)
	defer cancel()
	release := harness.LockStore(t, harness.StorePath(dir))
	result := make(chan error, 1)
	go func() {
		defer release()
		result <- postHalf(ctx, address)
	}()
	harness.Start(t, dir, "--set", "server.address="+address, "--set", "server.request_timeout=1s", "--set", "server.write_timeout=3s")
	if err := <-result; err != nil {
		t.Error(err)
	}
}

// postHalf sends a request with half of its body as soon as a server listens, and returns
// an error unless the status of the response is 503.
func postHalf(ctx context.Context, address string) error {
	conn, err := new(net.Dialer).DialContext(ctx, "tcp", address)
	for err != nil && ctx.Err() == nil {
		conn, err = new(net.Dialer).DialContext(ctx, "tcp", address)
	}
	if err != nil {
		return err
	}
	defer conn.Close()
	deadline, _ := ctx.Deadline()
	if err := conn.SetDeadline(deadline); err != nil {
		return err
	}
	if _, err := fmt.Fprint(conn, "POST /v1/pets HTTP/1.1\r\nHost: petstore\r\nContent-Length: 100\r\n\r\n{"); err != nil {
		return err
	}
	res, err := http.ReadResponse(bufio.NewReader(conn), nil)
	if err != nil {
		return err
	}
	defer res.Body.Close()
	if res.StatusCode != http.StatusServiceUnavailable {
		return fmt.Errorf("got the status %d, want 503", res.StatusCode)
	}
	return nil
}
