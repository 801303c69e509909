package service

import (
	"bufio"
	"crypto/tls"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"net/http"
	"os"
	"os/signal"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/creack/pty"
	"github.com/getkin/kin-openapi/openapi3"
	"github.com/google/go-cmp/cmp"

	"example.com/petstore/internal/test/testkit"
	"example.com/petstore/test/harness"
)

// TestStartingServerIsAliveButNotReady starts a server that never opens its store: the database server of
// its DSN accepts a connection and sends nothing.
func TestStartingServerIsAliveButNotReady(t *testing.T) {
	t.Parallel()
	const origin = "https://shop.example.com"
	silent, err := (&net.ListenConfig{}).Listen(t.Context(), "tcp", "127.0.0.1:0")
	testkit.Check(t, err)
	defer silent.Close()
	address, args := harness.FreeAddress(t), []string{"serve"}
	for _, setting := range []string{
		"server.address=" + address, "admin.address=127.0.0.1:0", "cors.allowed_origins=" + origin,
		"server.request_timeout=1s", "server.write_timeout=3s",
		"database.driver=postgres", "database.dsn=postgres://" + silent.Addr().String() + "/pets?sslmode=disable&connect_timeout=3600",
	} {
		args = append(args, "--set", setting)
	}
	s := harness.Launch(t, harness.Command(t.Context(), t.TempDir(), args...), address)
	if _, metrics := harness.Get(t, s.AdminURL(t)+"/metrics"); !strings.Contains(metrics, "\npetstore_ready 0\n") {
		t.Errorf("got the metrics %s, want petstore_ready 0", metrics)
	}
	for path, want := range map[string]int{"/livez": 200, "/readyz": 503} {
		s.WantStatus(t, path, want)
	}
	harness.RunOK(t, t.TempDir(), "healthcheck", "--live", "--set", "server.address="+address)
	harness.WantError(t, t.TempDir(), "healthcheck --set server.address="+address,
		"the service at "+address+" is not ready: 503 Service Unavailable: the service is starting, try again")

	request, err := s.Request(t.Context(), http.MethodGet, "/v1/pets", "", "Origin", origin, "X-Forwarded-For", "192.0.2.7")
	testkit.Check(t, err)
	response, err := harness.Client.Do(request)
	testkit.Check(t, err)
	response.Body.Close()
	allowed, hsts := response.Header.Get("Access-Control-Allow-Origin"), response.Header.Get("Strict-Transport-Security")
	if response.StatusCode != http.StatusServiceUnavailable || allowed != origin || hsts != "" {
		t.Errorf("got %d with Access-Control-Allow-Origin %q and HSTS %q, want 503 with %s, without HSTS", response.StatusCode, allowed, hsts, origin)
	}

	// Until the read deadline, net/http waits for the rest of a body before it sends a response.
	conn := dial(t, s)
	_, err = fmt.Fprint(conn, "POST /v1/pets HTTP/1.1\r\nHost: petstore\r\nContent-Length: 100\r\n\r\n{")
	testkit.Check(t, err)
	testkit.Check(t, conn.SetReadDeadline(time.Now().Add(10*time.Second)))
	response, err = http.ReadResponse(bufio.NewReader(conn), nil)
	testkit.Check(t, err)
	response.Body.Close()
	if response.StatusCode != http.StatusServiceUnavailable {
		t.Errorf("half of a request: got %d, want 503", response.StatusCode)
	}
	if log := s.Log.String(); !strings.Contains(log, `"client":"127.0.0.1"`) || strings.Contains(log, "192.0.2.7") {
		t.Errorf("got the log %s, want the address of the client, which is no trusted proxy", log)
	}
}

// Without a WAL, the lock also blocks the pragmas of a new connection. They ignore the context.
func TestSignalInterruptsOpeningTheStore(t *testing.T) {
	t.Parallel()
	dir, address := harness.NewStore(t), harness.FreeAddress(t)
	writeCertificate(t, dir, 1)
	tx, err := harness.OpenSQLite(t, "file:"+harness.StorePath(dir)+"?_journal_mode=DELETE&_txlock=exclusive").BeginTx(t.Context(), nil)
	testkit.Check(t, err)
	defer func() { _ = tx.Rollback() }()
	args := append([]string{"serve", "--set", "server.address=" + address}, tlsFlags...)
	s := harness.Launch(t, harness.Command(t.Context(), dir, args...), address)
	s.URL = "https://" + address
	testkit.WaitUntil(t, "the server listens, and a response during the start has HSTS", func() bool {
		got, err := getOverTLS(s, t, "/v1/pets", tls.VersionTLS13)
		return err == nil && got.status == http.StatusServiceUnavailable && got.hsts == oneYear
	})
	signalled := time.Now()
	s.Signal(t, syscall.SIGTERM)
	_ = s.Wait()
	if took, limit := time.Since(signalled), testkit.Scaled(2*time.Second); took > limit {
		t.Errorf("got the exit after %s, want it within %s", took, limit)
	}
	want := "petstore: interrupted while opening the store: terminated signal received\n"
	if code := s.ProcessState.ExitCode(); code != 1 || !strings.HasSuffix(s.Log.String(), want) {
		t.Errorf("got code %d, stderr %s; want 1 and %s", code, s.Log, want)
	}
}

// TestEachSignalStopsTheServer expects that the server drains: it is not ready, but still serves requests.
func TestEachSignalStopsTheServer(t *testing.T) {
	t.Parallel()
	for sent, reason := range map[syscall.Signal]string{
		syscall.SIGTERM: "terminated signal received", syscall.SIGINT: "interrupt signal received",
	} {
		delay := "server.shutdown_delay=" + testkit.Scaled(2*time.Second).String()
		s := harness.Start(t, t.TempDir(), "--set", "admin.address=127.0.0.1:0", "--set", delay)
		admin := s.AdminURL(t)
		s.Signal(t, sent)
		testkit.WaitUntil(t, "the server is not ready", func() bool { return !s.IsReady(t.Context()) })
		for path, want := range map[string]int{"/readyz": 503, "/livez": 200, "/v1/pets": 200} {
			s.WantStatus(t, path, want)
		}
		if status, _ := harness.Get(t, admin+"/metrics"); status != http.StatusOK {
			t.Errorf("GET /metrics: got %d, want 200", status)
		}
		s.WantExitOK(t)
		if log := s.Log.String(); !strings.Contains(log, `"msg":"stopping","reason":"`+reason+`"}`) ||
			!strings.HasSuffix(log, "\"msg\":\"stopped\"}\n") {
			t.Errorf("%s: got a log without the reason, or without the entry stopped:\n%s", sent, log)
		}
	}
}

// A rotation of log files sends SIGHUP, and so does a terminal that is closed.
func TestHangupStopsTheServerOnATerminalOnly(t *testing.T) {
	t.Parallel()
	s := harness.Start(t, t.TempDir())
	s.Signal(t, syscall.SIGHUP)
	s.Stop(t)
	if log := s.Log.String(); !strings.Contains(log, `"reason":"terminated signal received"`) {
		t.Errorf("got a log with another reason than SIGTERM:\n%s", log)
	}

	// Under nohup, SIGHUP is ignored. A process does not inherit that if its parent handles the signal.
	handled := make(chan os.Signal, 1)
	signal.Notify(handled, syscall.SIGHUP)
	defer signal.Stop(handled)
	screen, terminal, err := pty.Open()
	testkit.Check(t, err)
	defer func() { testkit.Check(t, errors.Join(terminal.Close(), screen.Close())) }()
	cmd := harness.Command(t.Context(), t.TempDir(), "serve", "--first-key")
	cmd.Stderr = terminal
	s = harness.StartCommand(t, cmd)
	s.Signal(t, syscall.SIGHUP)
	s.WantExitOK(t)
}

// TestServerExitsWithinItsShutdownTimeouts locks the store. A request, and then the update of the last use
// of its key, take longer than the shutdown timeout: five seconds each.
func TestServerExitsWithinItsShutdownTimeouts(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	s := harness.Start(t, dir, "--set", "server.shutdown_timeout=7s", "--set", "admin.address=127.0.0.1:0")
	admin := s.AdminURL(t)
	defer harness.LockStore(t, harness.StorePath(dir))()
	go func() { _, _, _ = s.Post(t.Context(), harness.PetBody("Rex")) }()
	testkit.WaitUntil(t, "the request is in flight", func() bool {
		_, metrics := harness.Get(t, admin+"/metrics")
		return strings.Contains(metrics, "\npetstore_http_requests_in_flight 1\n")
	})
	signalled := time.Now()
	s.Signal(t, syscall.SIGTERM)
	err := s.Wait()
	limit := 7*time.Second + testkit.Scaled(2*time.Second) // for a machine that stands still for a moment
	if took := time.Since(signalled); took > limit || s.ProcessState.ExitCode() != 1 {
		t.Errorf("got %v after %s, want exit code 1 within %s", err, took, limit)
	}
	if !strings.Contains(s.Log.String(), `"msg":"shutdown timed out, exiting","limit":7}`) {
		t.Errorf("the log has no entry about the timeout:\n%s", s.Log)
	}
}

// TestOpenAPIExamplesSucceedOnASeededStore sends the example request of every operation. On one store it
// sells an animal and delivers its order. On another store it corrects and removes the animal, and cancels
// the order. The document names this server and the servers of the settings.
func TestOpenAPIExamplesSucceedOnASeededStore(t *testing.T) {
	t.Parallel()
	for _, others := range [][]string{{"updatePet", "deletePet", "cancelOrder"}, {"placeOrder", "deliverOrder"}} {
		dir, operations := t.TempDir(), 0
		harness.MustRun(t, dir, "seed")
		s := harness.Start(t, dir, "--set", "server.trusted_proxies=127.0.0.1",
			"--set", "server.production_url=https://pets.example/shop", "--set", "server.staging_url=https://staging.example")
		doc := s.Document(t, "X-Forwarded-Proto", "https", "X-Forwarded-Host", "shop.example:8443")
		var servers []string
		for _, server := range doc.Servers {
			servers = append(servers, server.URL)
		}
		if diff := cmp.Diff([]string{"https://pets.example/shop/v1", s.URL + "/v1", "https://staging.example/v1"}, servers); diff != "" {
			t.Errorf("servers (-want +got):\n%s", diff)
		}
		for _, method := range []string{http.MethodGet, http.MethodPost, http.MethodPatch, http.MethodPut, http.MethodDelete} {
			for path, item := range doc.Paths.Map() {
				operation := item.GetOperation(method)
				if operation == nil || slices.Contains(others, operation.OperationID) {
					continue
				}
				operations++
				path, body := example(t, path, operation)
				if status, text, err := s.Do(t.Context(), method, "/v1"+path, body); err != nil || status >= 300 {
					t.Errorf("%s: got %d %s %v, want less than 300", path, status, text, err)
				}
			}
		}
		if operations < 10 {
			t.Errorf("got %d operations, want at least 10", operations)
		}
	}
}

// example returns the path and the body of the request that Swagger UI sends if the user does not change
// the example.
func example(t *testing.T, path string, operation *openapi3.Operation) (filled, body string) {
	t.Helper()
	for _, p := range operation.Parameters { // only the parameters in the path are in braces; ids have no example
		path = strings.ReplaceAll(path, "{"+p.Value.Name+"}", "1")
	}
	if operation.RequestBody == nil {
		return path, ""
	}
	text, err := json.Marshal(exampleOf(operation.RequestBody.Value.Content["application/json"].Schema.Value))
	testkit.Check(t, err)
	return path, string(text)
}

// exampleOf returns the example of a schema. That of an object is made of the examples of its members.
func exampleOf(schema *openapi3.Schema) any {
	switch {
	case schema.Type.Is("array"):
		return []any{exampleOf(schema.Items.Value)}
	case schema.Enum != nil:
		return schema.Enum[0]
	case schema.Properties == nil:
		return schema.Example
	}
	fields := map[string]any{}
	for name, field := range schema.Properties {
		fields[name] = exampleOf(field.Value)
	}
	return fields
}
