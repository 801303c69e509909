package main

import (
	"bufio"
	"database/sql"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/golang-jwt/jwt/v5"

	"example.com/petstore/internal/test/testkit"
	"example.com/petstore/test/harness"
)

const secret = "secret-of-the-test"

// token returns a token of a user of a shop.
func token(t *testing.T, shop, scope string) string {
	t.Helper()
	user := claims{Shop: shop, Scope: scope, RegisteredClaims: jwt.RegisteredClaims{
		Subject: "ann", ExpiresAt: jwt.NewNumericDate(time.Now().Add(time.Hour)),
	}}
	signed, err := jwt.NewWithClaims(jwt.SigningMethodHS256, user).SignedString([]byte(secret))
	testkit.Check(t, err)
	return signed
}

// startHost starts the host in dir with its traces sent to a URL, and waits until both shops are ready.
func startHost(t *testing.T, program, dir, traces string) *harness.Server {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), program)
	address := harness.FreeAddress(t)
	cmd.Dir = dir
	cmd.Env = append(os.Environ(), "GIN_MODE=release", "HOST_SECRET="+secret, "HOST_ADDRESS="+address, "OTEL_EXPORTER_OTLP_ENDPOINT="+traces)
	host := harness.Launch(t, cmd, address)
	testkit.WaitUntil(t, "the host is ready", func() bool {
		north, _, _ := host.Do(t.Context(), http.MethodGet, "/north/ready", "")
		south, _, _ := host.Do(t.Context(), http.MethodGet, "/south/ready", "")
		return north == http.StatusOK && south == http.StatusOK
	})
	return host
}

func TestHostServesTwoShopsToItsUsers(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	program := filepath.Join(dir, "host")
	harness.Shell(t, ".", "go build -o "+program+" .")
	var spans atomic.Int64 // requests with spans
	collector := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { spans.Add(1) }))
	t.Cleanup(collector.Close)

	host := startHost(t, program, dir, collector.URL)
	want := func(token, method, path, body string, status int, text string) {
		t.Helper()
		host.Key = token
		if got, response, err := host.Do(t.Context(), method, path, body); got != status || !strings.Contains(response, text) {
			t.Errorf("%s %s: got %d %s (%v), want %d %s", method, path, got, response, err, status, text)
		}
	}
	seller, editor := token(t, "north", "pets:read orders:write"), token(t, "north", "pets:read pets:write changes:read")
	south := token(t, "south", "pets:read")
	const rex = `{"name":"Rex","categoryId":7}`
	want("", http.MethodGet, "/north/v1/pets", "", 401, `"unauthenticated"`)
	want(south, http.MethodGet, "/north/v1/pets", "", 401, `"unauthenticated"`)
	want(seller, http.MethodPost, "/north/v1/pets", rex, 403, `"forbidden"`)
	want(token(t, "north", ""), http.MethodGet, "/north/v1/pets", "", 403, `lacks the scope pets:read`)
	want(editor, http.MethodPost, "/north/v1/pets", rex, 201, `"id":1`)
	want(seller, http.MethodPost, "/north/v1/store/orders", `{"petId":1}`, 201, `"placed"`)
	want(south, http.MethodGet, "/south/v1/pets", "", 200, `[]`)
	want(south, http.MethodGet, "/north/names?name=Rex", "", 401, `"unauthenticated"`)
	want("", http.MethodGet, "/north/docs/swagger/index.html", "", 200, `swagger-ui`)
	testkit.WaitUntil(t, "the metrics have the lag of Follow, which begins after a first copy of the names", func() bool {
		_, metrics, _ := host.Do(t.Context(), http.MethodGet, "/metrics", "")
		return strings.Contains(metrics, `petstore_changes_follow_lag_seconds{shop="north"}`)
	})
	want("", http.MethodGet, "/metrics", "", 200, `petstore_pets{shop="south",status="none"} 0`)
	wantName := func(ids string) {
		t.Helper()
		testkit.WaitUntil(t, "the copy has "+ids, func() bool {
			_, names, _ := host.Do(t.Context(), http.MethodGet, "/north/names?name=Rex", "")
			return names == ids
		})
	}
	host.Key = editor
	wantName(`[1]`)

	headers := func(method, path string, headers ...string) http.Header {
		t.Helper()
		response := send(t, host, method, path, headers...)
		defer response.Body.Close()
		return response.Header
	}
	page := headers(http.MethodGet, "/north/v1/pets", "Accept-Encoding", "gzip")
	if page.Get("Content-Encoding") != "gzip" || page.Get("ETag") == "" {
		t.Errorf("got the headers %v, want a compressed page", page)
	}
	preflight := headers(http.MethodOptions, "/north/v1/pets", "Origin", "https://shops.example", "Access-Control-Request-Method", "POST")
	testkit.Equal(t, "the origin that may use the API", "https://shops.example", preflight.Get("Access-Control-Allow-Origin"))
	stream := send(t, host, http.MethodGet, "/north/v1/changes", "Accept", "text/event-stream", "Accept-Encoding", "gzip")
	defer stream.Body.Close()
	for events := bufio.NewScanner(stream.Body); events.Text() != "event: order.placed"; {
		if !events.Scan() {
			t.Fatalf("the stream ended before the order: %v", events.Err())
		}
	}
	host.Stop(t) // ends the stream
	if spans.Load() == 0 {
		t.Error("got no spans")
	}

	tables := harness.OpenSQLite(t, filepath.Join(dir, "host.db"))
	for _, statement := range []string{"UPDATE positions SET position = 1", "INSERT INTO names VALUES ('north', 99, 'Rex')"} {
		_, err := tables.ExecContext(t.Context(), statement)
		testkit.Check(t, err)
	}
	host = startHost(t, program, dir, collector.URL)
	host.Key = editor
	wantName(`[1]`) // copied again, because position 1 has expired
	host.Stop(t)

	animals := harness.OpenSQLite(t, filepath.Join(dir, "north.db"))
	for statement, database := range map[string]*sql.DB{
		"DELETE FROM changes": animals, "UPDATE store SET kept_after = position": animals,
		"DELETE FROM positions": tables, "DELETE FROM names": tables,
	} {
		_, err := database.ExecContext(t.Context(), statement)
		testkit.Check(t, err)
	}
	host = startHost(t, program, dir, collector.URL)
	host.Key = editor
	wantName(`[1]`) // a first copy, after the change that added the animal was removed
	host.Stop(t)
}

// send sends a request of the user of a host. The caller closes the body of the response.
func send(t *testing.T, host *harness.Server, method, path string, headers ...string) *http.Response {
	t.Helper()
	request, err := host.Request(t.Context(), method, path, "", headers...)
	testkit.Check(t, err)
	response, err := harness.Client.Do(request)
	testkit.Check(t, err)
	return response
}
