package service

import (
	"encoding/json"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"example.com/petstore/test/harness"

	"example.com/petstore/domain/apikey"
)

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
	if err := json.Unmarshal([]byte(harness.RunOK(t, dir, "keys", "list", "--output", "json")), &list); err != nil {
		t.Fatal(err)
	}
	if len(list) != 2 || list[0].LastUsedAt == nil || list[1].LastUsedAt != nil || !strings.HasSuffix(unused, list[1].LastFour) {
		t.Errorf("got %+v, want two keys, the first of them used", list)
	}
}

func TestServerAcceptsItsBootstrapKeyUntilItIsRevoked(t *testing.T) {
	t.Parallel()
	dir, secret := t.TempDir(), apikey.Generate()
	file := filepath.Join(dir, "key")
	if err := os.WriteFile(file, []byte(secret+"\n"), 0o600); err != nil {
		t.Fatal(err)
	}
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

func TestServeRejectsAMalformedBootstrapKey(t *testing.T) {
	t.Parallel()
	secret := apikey.Generate()
	for name, malformed := range map[string]string{"truncated": secret[:57], "in lower case": strings.ToLower(secret)} {
		dir := t.TempDir()
		_, stderr, code := harness.Run(t, dir, "serve", "--set", "auth.bootstrap_key="+malformed)
		if code != 2 || !strings.Contains(stderr, "auth.bootstrap_key = (hidden) (command line): must be an API key") || strings.Contains(stderr, malformed) {
			t.Errorf("%s: got code %d, stderr %q; want 2 and an error without the key", name, code, stderr)
		}
		if _, err := os.Stat(harness.StorePath(dir)); err == nil {
			t.Error("a store was created")
		}
	}
}

func TestServeSaysHowToMakeAKeyIfNoneIsValid(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	const warning = `"msg":"no API key of the store is valid: run petstore keys create --name NAME"`
	wantWarning := func(store string, want bool) {
		t.Helper()
		if log := logOfServerWithoutFirstKey(t, dir); strings.Contains(log, warning) != want {
			t.Errorf("%s: got the log %s, want the warning: %t", store, log, want)
		}
	}
	wantWarning("a new store", true)
	harness.PrintedKey(t, dir, "create", "--name", "till-1")
	wantWarning("a valid key", false)
	harness.RunOK(t, dir, "keys", "revoke", "1")
	wantWarning("a revoked key", true)
}

// logOfServerWithoutFirstKey starts petstore serve in dir, stops it when it is ready, and returns
// its log.
func logOfServerWithoutFirstKey(t *testing.T, dir string) string {
	t.Helper()
	address := harness.FreeAddress(t)
	s := harness.Launch(t, harness.Command(t.Context(), dir, "serve", "--set", "server.address="+address), address)
	harness.Eventually(t, "the server is ready", func() bool {
		status, _, err := s.Do(t.Context(), http.MethodGet, "/readyz", "")
		return err == nil && status == http.StatusOK
	})
	s.Stop(t)
	return s.Log.String()
}
