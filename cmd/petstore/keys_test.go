package main

import (
	"net/http"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

// printedKey runs petstore keys with args and returns the key that it prints. It fails the
// test if anything else is printed.
func printedKey(t *testing.T, dir string, args ...string) string {
	t.Helper()
	stdout := runOK(t, dir, append([]string{"keys"}, args...)...)
	key := keyPattern.FindString(stdout)
	if key == "" || stdout != key+"\n" {
		t.Fatalf("petstore keys %v: got %q, want only a key", args, stdout)
	}
	return key
}

// wantKeyStatus sends a GET with each key and expects a status.
func wantKeyStatus(t *testing.T, s *serverProcess, want int, keys ...string) {
	t.Helper()
	for _, key := range keys {
		status, body, err := s.do(t.Context(), http.MethodGet, "/v1/pets", "", "Authorization", "Bearer "+key)
		if err != nil || status != want {
			t.Errorf("got %d %s %v, want %d", status, body, err, want)
		}
	}
}

func TestKeysCommandLine(t *testing.T) {
	t.Parallel()
	const invalidDuration = "must be a duration such as 90d, 36h or 30m"
	for name, test := range map[string]struct {
		args   string
		code   int
		stderr string
	}{
		"help":                         {"keys", 0, ""},
		"unknown command":              {"keys sell", 2, `unknown command "sell" for "petstore keys"`},
		"create for 0 days":            {"keys create --name n --expires 0d", 2, `invalid argument "0d" for "--expires" flag: must be from 1s to 3650d`},
		"create for too long":          {"keys create --name n --expires 3651d", 2, `invalid argument "3651d" for "--expires" flag: must be from 1s to 3650d`},
		"create for no duration":       {"keys create --name n --expires soon", 2, `invalid argument "soon" for "--expires" flag: ` + invalidDuration},
		"list in unknown format":       {"keys list --output xml", 2, `invalid argument "xml" for "--output" flag: must be table or json`},
		"list one":                     {"keys list 7", 2, "petstore keys list takes no arguments"},
		"rotate nothing":               {"keys rotate", 2, "name the ID of an API key, which petstore keys list shows"},
		"rotate an invalid ID":         {"keys rotate petstore_secret", 2, "the ID of an API key must be a number that petstore keys list shows"},
		"rotate with negative overlap": {"keys rotate 7 --overlap -1h", 2, `invalid argument "-1h" for "--overlap" flag: must be from 0s to 3650d`},
		"rotate an unknown key":        {"keys rotate 7", 1, "there is no API key with the id 7"},
		"revoke two":                   {"keys revoke 7 8", 2, "petstore keys revoke accepts one argument, not 2: quote one that contains spaces"},
		"revoke an invalid ID":         {"keys revoke 0x7", 2, "the ID of an API key must be a number that petstore keys list shows"},
		"revoke an unknown key":        {"keys revoke 7", 1, "there is no API key with the id 7"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			dir := t.TempDir()
			if test.code == 1 {
				dir = dirWithStore(t)
			}
			stdout, stderr, code := runPetstore(t, dir, strings.Fields(test.args)...)
			want := ""
			if test.code != 0 {
				want = "petstore: " + test.stderr + "\n"
			}
			if code != test.code || stderr != want || (stdout == "") != (code != 0) {
				t.Errorf("got code %d, stdout %q, stderr %q; want %d and stderr %q", code, stdout, stderr, test.code, want)
			}
			if _, err := os.Stat(storePath(dir)); err == nil && test.code != 1 {
				t.Error("a store was created")
			}
		})
	}
}

func TestKeysListPrintsTablesAndJSON(t *testing.T) {
	t.Parallel()
	dir := dirWithStore(t)
	if empty := runOK(t, dir, "keys", "list", "--output", "json"); empty != "[]\n" {
		t.Errorf("an empty store: got %q, want []", empty)
	}
	// Times in milliseconds from 2000-01-01 to 2100-01-01; 1795176000250 is 2026-11-20T12:00:00.250Z.
	_, err := openSQLite(t, storePath(dir)).ExecContext(t.Context(), `INSERT INTO api_keys
		(hash, name, last_four, created_at, expires_at, revoked_at, last_used_at, read_only) VALUES
		(randomblob(32), 'till 1', 'aaaa', 1795176000250, NULL, NULL, NULL, 0),
		(randomblob(32), 'Käfig <2>', 'bbbb', 1795176000250, 4102444800000, NULL, 1795176000000, 1),
		(randomblob(32), 'expired', 'cccc', 946684800000, 978307200000, NULL, 946684800500, 0),
		(randomblob(32), 'revoked', 'dddd', 946684800000, NULL, 946684800001, NULL, 0),
		(randomblob(32), 'rotated', 'eeee', 946684800000, NULL, 4102444800000, NULL, 0)`)
	if err != nil {
		t.Fatal(err)
	}
	for golden, args := range map[string][]string{
		"keys.txt":  {"keys", "list", "--output", "table"},
		"keys.json": {"keys", "list", "--output", "json"},
	} {
		want, err := os.ReadFile(filepath.Join("testdata", golden))
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(string(want), runOK(t, dir, args...)); diff != "" {
			t.Errorf("%s (-want +got)\n%s", golden, diff)
		}
	}
}

func TestKeysAreManagedWhileAServerRuns(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	s := startServer(t, dir)
	first := printedKey(t, dir, "create", "--name", "till 1", "--expires", "90d") // id 2; the server has created key 1
	wantKeyStatus(t, s, http.StatusOK, first)
	second := printedKey(t, dir, "rotate", "2", "--overlap", "24h")
	wantKeyStatus(t, s, http.StatusOK, first, second)
	third := printedKey(t, dir, "rotate", "3")
	wantKeyStatus(t, s, http.StatusOK, first, second, third)

	runOK(t, dir, "keys", "revoke", "2")
	runOK(t, dir, "keys", "revoke", "2")
	startKeyLoad(t, first, s).wait()
	last := printedKey(t, dir, "rotate", "4", "--overlap", "0s")
	startKeyLoad(t, third, s).wait()
	wantKeyStatus(t, s, http.StatusOK, second, last, s.key)

	_, stderr, code := runPetstore(t, dir, "keys", "rotate", "4")
	if want := "petstore: the API key with the id 4 is revoked and cannot be rotated\n"; code != 1 || stderr != want {
		t.Errorf("got code %d, stderr %q; want 1 and %q", code, stderr, want)
	}

	invalid := strings.ToLower(last)
	wantKeyStatus(t, s, http.StatusUnauthorized, invalid, last[:len(last)-1])
	texts := s.log.String() + runOK(t, dir, "keys", "list") + runOK(t, dir, "keys", "list", "--output", "json")
	for _, file := range []string{"", "-wal"} {
		content, err := os.ReadFile(storePath(dir) + file)
		if err != nil {
			t.Fatal(err)
		}
		texts += string(content)
	}
	for _, secret := range []string{first, second, third, last, s.key, invalid} {
		if body := strings.TrimPrefix(secret, "petstore_"); strings.Contains(texts, body) {
			t.Errorf("the log, a list or the store contains %q", secret)
		}
	}
}

func TestReadOnlyKeyMayReadOnEveryServer(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	s := startServer(t, dir)
	key := printedKey(t, dir, "create", "--name", "public page", "--read-only") // id 2
	rotated := printedKey(t, dir, "rotate", "2")
	wantKeyStatus(t, s, http.StatusOK, key, rotated)
	for secret, want := range map[string]int{key: http.StatusForbidden, rotated: http.StatusForbidden, s.key: http.StatusCreated} {
		status, body, err := s.do(t.Context(), http.MethodPost, "/v1/pets", `{"name":"Rex","categoryId":7}`, "Authorization", "Bearer "+secret)
		if err != nil || status != want || strings.Contains(body, "--read-only") != (want == http.StatusForbidden) {
			t.Errorf("got %d %s %v, want %d", status, body, err, want)
		}
	}
	access := regexp.MustCompile(`full|read-only`).FindAllString(runOK(t, dir, "keys", "list"), -1)
	if diff := cmp.Diff([]string{"full", "read-only", "read-only"}, access); diff != "" {
		t.Errorf("access of the listed keys (-want +got)\n%s", diff)
	}
}

func TestRevokedKeyIsRejectedByEveryServerWithinFiveSeconds(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	servers := []*serverProcess{startServer(t, dir), startServer(t, dir)}
	l := startKeyLoad(t, printedKey(t, dir, "create", "--name", "till 1"), servers...)
	l.accepted.Wait()
	runOK(t, dir, "keys", "revoke", "2")
	revoked := time.Now()
	late := l.wait().Sub(revoked)
	if late >= 5*time.Second {
		t.Errorf("the key was accepted %v after its revocation, want less than 5s", late)
	}
	t.Logf("the last status 200 was received %v after the command exited", late)
	wantKeyStatus(t, servers[1], http.StatusOK, servers[0].key)
}

func TestExpiredKeyIsRejectedByEveryServer(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	servers := []*serverProcess{startServer(t, dir), startServer(t, dir)}
	key := printedKey(t, dir, "create", "--name", "till 1", "--expires", "2s")
	expires := time.Now().Add(2 * time.Second)
	l := startKeyLoad(t, key, servers...)
	l.accepted.Wait()
	if late := l.wait().Sub(expires); late >= 5*time.Second {
		t.Errorf("the key was accepted %v after its expiry, want less than 5s", late)
	}
	if list := runOK(t, dir, "keys", "list"); !strings.Contains(list, "  expired\n") {
		t.Errorf("got a list without an expired key:\n%s", list)
	}
}

// A keyLoad is a number of clients that send requests with one key until it is rejected.
type keyLoad struct {
	accepted sync.WaitGroup // done when each client had one request accepted
	rejected sync.WaitGroup // done when each client had one request rejected
	mu       sync.Mutex
	last     time.Time // of an accepted request
}

func startKeyLoad(t *testing.T, key string, servers ...*serverProcess) *keyLoad {
	t.Helper()
	const clients, timeout = 4, 20 * time.Second
	l := &keyLoad{}
	for i := range clients * len(servers) {
		l.accepted.Add(1)
		l.rejected.Go(func() {
			accepted := sync.OnceFunc(l.accepted.Done)
			defer accepted()
			for start := time.Now(); time.Since(start) < timeout; {
				status, body, err := servers[i%len(servers)].do(t.Context(), http.MethodGet, "/v1/pets", "", "Authorization", "Bearer "+key)
				if err != nil || status != http.StatusOK {
					if err != nil || status != http.StatusUnauthorized || !strings.Contains(body, `"invalid_api_key"`) {
						t.Error(status, body, err)
					}
					return
				}
				l.recordAccepted(time.Now())
				accepted()
			}
			t.Errorf("the key was still accepted after %v", timeout)
		})
	}
	return l
}

func (l *keyLoad) recordAccepted(at time.Time) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if at.After(l.last) {
		l.last = at
	}
}

// wait waits until the key is rejected and returns the time of the last accepted request.
func (l *keyLoad) wait() time.Time {
	l.rejected.Wait()
	return l.last
}
