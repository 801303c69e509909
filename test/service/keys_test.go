package service

import (
	"encoding/json"
	"net/http"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"example.com/petstore/domain/apikey"
	"example.com/petstore/test/harness"
)

func TestKeysAreManagedWhileAServerRuns(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	s := harness.Start(t, dir)
	first := harness.PrintedKey(t, dir, "create", "--name", "till 1", "--expires", "90d") // id 2; the server has created key 1
	s.WantKeyStatus(t, http.StatusOK, first)
	second := harness.PrintedKey(t, dir, "rotate", "2", "--overlap", "24h")
	s.WantKeyStatus(t, http.StatusOK, first, second)
	third := harness.PrintedKey(t, dir, "rotate", "3")
	s.WantKeyStatus(t, http.StatusOK, first, second, third)

	harness.RunOK(t, dir, "keys", "revoke", "2")
	harness.RunOK(t, dir, "keys", "revoke", "2")
	startKeyLoad(t, first, s).wait()
	last := harness.PrintedKey(t, dir, "rotate", "4", "--overlap", "0s")
	startKeyLoad(t, third, s).wait()
	s.WantKeyStatus(t, http.StatusOK, second, last, s.Key)

	_, stderr, code := harness.Run(t, dir, "keys", "rotate", "4")
	if want := "petstore: the API key with the id 4 is revoked and cannot be rotated\n"; code != 1 || stderr != want {
		t.Errorf("got code %d, stderr %q; want 1 and %q", code, stderr, want)
	}

	invalid := strings.ToLower(last)
	s.WantKeyStatus(t, http.StatusUnauthorized, invalid, last[:len(last)-1])
	texts := s.Log.String() + harness.RunOK(t, dir, "keys", "list") + harness.RunOK(t, dir, "keys", "list", "--output", "json")
	for _, file := range []string{"", "-wal"} {
		content, err := os.ReadFile(harness.StorePath(dir) + file)
		harness.Check(t, err)
		texts += string(content)
	}
	for _, secret := range []string{first, second, third, last, s.Key, invalid} {
		if body := strings.TrimPrefix(secret, "petstore_"); strings.Contains(texts, body) {
			t.Errorf("the log, a list or the store contains %q", secret)
		}
	}
}

func TestReadOnlyKeyMayReadOnEveryServer(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	s := harness.Start(t, dir)
	key := harness.PrintedKey(t, dir, "create", "--name", "public page", "--read-only") // id 2
	rotated := harness.PrintedKey(t, dir, "rotate", "2")
	s.WantKeyStatus(t, http.StatusOK, key, rotated)
	for secret, want := range map[string]int{key: http.StatusForbidden, rotated: http.StatusForbidden, s.Key: http.StatusCreated} {
		status, body, err := s.Do(t.Context(), http.MethodPost, "/v1/pets", `{"name":"Rex","categoryId":7}`, "Authorization", "Bearer "+secret)
		if err != nil || status != want || strings.Contains(body, "--read-only") != (want == http.StatusForbidden) {
			t.Errorf("got %d %s %v, want %d", status, body, err, want)
		}
	}
	access := regexp.MustCompile(`full|read-only`).FindAllString(harness.RunOK(t, dir, "keys", "list"), -1)
	if diff := cmp.Diff([]string{"full", "read-only", "read-only"}, access); diff != "" {
		t.Errorf("access of the listed keys (-want +got)\n%s", diff)
	}
}

func TestKeyIsRejectedByEveryServerWithinFiveSecondsOfItsEnd(t *testing.T) {
	t.Parallel()
	for state, expires := range map[string]time.Duration{"revoked": time.Hour, "expired": 2 * time.Second} {
		t.Run(state, func(t *testing.T) {
			t.Parallel()
			dir := t.TempDir()
			servers := []*harness.Server{harness.Start(t, dir), harness.Start(t, dir)}
			l := startKeyLoad(t, harness.PrintedKey(t, dir, "create", "--name", "till 1", "--expires", expires.String()), servers...)
			ends := time.Now().Add(expires)
			l.accepted.Wait()
			if state == "revoked" {
				harness.RunOK(t, dir, "keys", "revoke", "2")
				ends = time.Now()
			}
			if late := l.wait().Sub(ends); late >= 5*time.Second {
				t.Errorf("the key was accepted %v after its end, want less than 5s", late)
			}
			servers[1].WantKeyStatus(t, http.StatusOK, servers[0].Key)
			if list := harness.RunOK(t, dir, "keys", "list"); !strings.Contains(list, "  "+state+"\n") {
				t.Errorf("got a list without the state %s:\n%s", state, list)
			}
		})
	}
}

// A keyLoad is a number of clients that send requests with one key until it is rejected.
type keyLoad struct {
	accepted sync.WaitGroup // done when each client had one request accepted
	rejected sync.WaitGroup // done when each client had one request rejected
	mu       sync.Mutex
	last     time.Time // of an accepted request
}

func startKeyLoad(t *testing.T, key string, servers ...*harness.Server) *keyLoad {
	t.Helper()
	const clients, timeout = 4, 20 * time.Second
	l := &keyLoad{}
	for i := range clients * len(servers) {
		l.accepted.Add(1)
		l.rejected.Go(func() {
			accepted := sync.OnceFunc(l.accepted.Done)
			defer accepted()
			for start := time.Now(); time.Since(start) < timeout; {
				status, body, err := servers[i%len(servers)].Do(t.Context(), http.MethodGet, "/v1/pets", "", "Authorization", "Bearer "+key)
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

func TestKeysListShowsTheLastUse(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	s := harness.Start(t, dir)
	unused := harness.PrintedKey(t, dir, "create", "--name", "unused")
	s.WantKeyStatus(t, http.StatusOK, s.Key)
	s.Stop(t)
	var list []struct {
		LastFour   string
		LastUsedAt *time.Time
	}
	harness.Check(t, json.Unmarshal([]byte(harness.RunOK(t, dir, "keys", "list", "--output", "json")), &list))
	if len(list) != 2 || list[0].LastUsedAt == nil || list[1].LastUsedAt != nil || !strings.HasSuffix(unused, list[1].LastFour) {
		t.Errorf("got %+v, want two keys, the first of them used", list)
	}
}

func TestServerAcceptsItsBootstrapKeyUntilItIsRevoked(t *testing.T) {
	t.Parallel()
	dir, secret := t.TempDir(), apikey.Generate()
	file := filepath.Join(dir, "key")
	harness.Check(t, os.WriteFile(file, []byte(secret+"\n"), 0o600))
	for range 2 {
		s := harness.StartWithEnv(t, dir, "PETSTORE_AUTH_BOOTSTRAP_KEY_FILE="+file)
		s.WantKeyStatus(t, http.StatusOK, secret)
		if s.Key != "" || strings.Contains(s.Log.String(), secret) {
			t.Errorf("a first key was created in addition to the bootstrap key, or the log contains it:\n%s", s.Log)
		}
	}
	harness.RunOK(t, dir, "keys", "revoke", "1")
	harness.StartWithEnv(t, dir, "PETSTORE_AUTH_BOOTSTRAP_KEY="+secret).WantKeyStatus(t, http.StatusUnauthorized, secret)
}

func TestServeSaysHowToMakeAKeyIfNoneIsValid(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	wantWarning := func(store string, want bool) {
		t.Helper()
		address := harness.FreeAddress(t)
		s := harness.LaunchReady(t, harness.Command(t.Context(), dir, "serve", "--set", "server.address="+address), address)
		warned := func() bool {
			return strings.Contains(s.Log.String(), `"msg":"no API key of the store is valid: run petstore keys create --name NAME"`)
		}
		if want {
			harness.Eventually(t, "the log has the warning: "+store, warned)
		}
		s.Stop(t)
		if warned() != want {
			t.Errorf("%s: got the log %s, want no warning", store, s.Log)
		}
	}
	wantWarning("a new store", true)
	harness.PrintedKey(t, dir, "create", "--name", "till-1")
	wantWarning("a valid key", false)
	harness.RunOK(t, dir, "keys", "revoke", "1")
	wantWarning("a revoked key", true)
}
