package main

import (
	"encoding/json"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"example.com/petstore/domain/apikey"
)

func TestKeysListShowsTheLastUse(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	s := startServer(t, dir)
	unused := printedKey(t, dir, "create", "--name", "unused")
	wantKeyStatus(t, s, http.StatusOK, s.key)
	s.stop(t)
	var list []struct {
		LastFour   string
		LastUsedAt *time.Time
	}
	if err := json.Unmarshal([]byte(runOK(t, dir, "keys", "list", "--output", "json")), &list); err != nil {
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
		s := startServerWithEnv(t, dir, "PETSTORE_AUTH_BOOTSTRAP_KEY_FILE="+file)
		wantKeyStatus(t, s, http.StatusOK, secret)
		if s.key != "" || strings.Contains(s.log.String(), secret) {
			t.Errorf("a first key was created in addition to the bootstrap key, or the log contains it:\n%s", s.log)
		}
	}
	runOK(t, dir, "keys", "revoke", "1")
	wantKeyStatus(t, startServerWithEnv(t, dir, "PETSTORE_AUTH_BOOTSTRAP_KEY="+secret), http.StatusUnauthorized, secret)
}

func TestServeRejectsAMalformedBootstrapKey(t *testing.T) {
	t.Parallel()
	secret := apikey.Generate()
	for name, malformed := range map[string]string{"truncated": secret[:57], "in lower case": strings.ToLower(secret)} {
		dir := t.TempDir()
		_, stderr, code := runPetstore(t, dir, "serve", "--set", "auth.bootstrap_key="+malformed)
		if code != 2 || !strings.Contains(stderr, "auth.bootstrap_key = (hidden) (command line): must be an API key") || strings.Contains(stderr, malformed) {
			t.Errorf("%s: got code %d, stderr %q; want 2 and an error without the key", name, code, stderr)
		}
		if _, err := os.Stat(storePath(dir)); err == nil {
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
	printedKey(t, dir, "create", "--name", "till-1")
	wantWarning("a valid key", false)
	runOK(t, dir, "keys", "revoke", "1")
	wantWarning("a revoked key", true)
}

// logOfServerWithoutFirstKey starts petstore serve in dir, stops it when it is ready, and returns
// its log.
func logOfServerWithoutFirstKey(t *testing.T, dir string) string {
	t.Helper()
	address := freeAddress(t)
	s := &serverProcess{Cmd: command(t.Context(), dir, "serve", "--set", "server.address="+address), url: "http://" + address, log: &syncBuffer{}}
	s.Stderr = s.log
	s.startAndKill(t)
	waitUntil(t, "the server is ready", func() bool {
		status, _, err := s.do(t.Context(), http.MethodGet, "/readyz", "")
		return err == nil && status == http.StatusOK
	})
	s.stop(t)
	return s.log.String()
}
