package service

import (
	"net/http"
	"os"
	"path/filepath"
	"regexp"
	"strings"
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
	wantRejected(t, time.Now(), first, s)
	last := harness.PrintedKey(t, dir, "rotate", "4", "--overlap", "0s")
	wantRejected(t, time.Now(), third, s)
	s.WantKeyStatus(t, http.StatusOK, second, last, s.Key)

	harness.WantError(t, dir, "keys rotate 4", "the API key with the id 4 is revoked and cannot be rotated")

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
			key := harness.PrintedKey(t, dir, "create", "--name", "till 1", "--expires", expires.String())
			ends := time.Now().Add(expires)
			for _, s := range servers {
				s.WantKeyStatus(t, http.StatusOK, key) // which caches it
			}
			if state == "revoked" {
				harness.RunOK(t, dir, "keys", "revoke", "2")
				ends = time.Now()
			}
			wantRejected(t, ends, key, servers...)
			servers[1].WantKeyStatus(t, http.StatusOK, servers[0].Key)
			if list := harness.RunOK(t, dir, "keys", "list"); !strings.Contains(list, "  "+state+"\n") {
				t.Errorf("got a list without the state %s:\n%s", state, list)
			}
		})
	}
}

// wantRejected sends requests with a key until all servers reject it, within 5 seconds of its end.
func wantRejected(t *testing.T, ends time.Time, key string, servers ...*harness.Server) {
	t.Helper()
	harness.EventuallyWithin(t, time.Until(ends)+5*time.Second, "the key is rejected", func() bool {
		rejected := 0
		for _, s := range servers {
			status, body, err := s.Do(t.Context(), http.MethodGet, "/v1/pets", "", "Authorization", "Bearer "+key)
			if err != nil || status != http.StatusOK && (status != http.StatusUnauthorized || !strings.Contains(body, `"invalid_api_key"`)) {
				t.Fatal(status, body, err)
			}
			if status == http.StatusUnauthorized {
				rejected++
			}
		}
		return rejected == len(servers)
	})
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
		s := harness.Launch(t, harness.Command(t.Context(), dir, "serve", "--set", "server.address="+address), address)
		harness.Eventually(t, "the server is ready", func() bool { return s.IsReady(t.Context()) })
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
