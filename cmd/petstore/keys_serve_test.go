package main

import (
	"encoding/json"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"example.com/petstore/domain"
)

func TestLastUseIsListed(t *testing.T) {
	t.Parallel()
	folder := t.TempDir()
	s := start(t, folder)
	unused := issue(t, folder, "create", "--name", "unused")
	wantStatus(t, s, http.StatusOK, s.key)
	if err := s.Process.Signal(syscall.SIGTERM); err != nil {
		t.Fatal(err)
	}
	if err := s.Wait(); err != nil {
		t.Fatal(err, s.log)
	}
	var list []keyEntry
	if err := json.Unmarshal([]byte(succeed(t, folder, "keys", "list", "--output", "json")), &list); err != nil {
		t.Fatal(err)
	}
	if len(list) != 2 || list[0].LastUsedAt == nil || list[1].LastUsedAt != nil || !strings.HasSuffix(unused, list[1].LastFour) {
		t.Errorf("got %+v", list)
	}
}

func TestServerKnowsItsBootstrapKey(t *testing.T) {
	t.Parallel()
	folder, secret := t.TempDir(), domain.GenerateKey()
	file := filepath.Join(folder, "key")
	if err := os.WriteFile(file, []byte(secret+"\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	for range 2 {
		s := startWith(t, folder, "PETSTORE_AUTH_BOOTSTRAP_KEY_FILE="+file)
		wantStatus(t, s, http.StatusOK, secret)
		if s.key != "" || strings.Contains(s.log.String(), secret) {
			t.Errorf("a first key was issued beside the bootstrap key, or the log tells it:\n%s", s.log)
		}
	}
	succeed(t, folder, "keys", "revoke", "1")
	wantStatus(t, startWith(t, folder, "PETSTORE_AUTH_BOOTSTRAP_KEY="+secret), http.StatusUnauthorized, secret)
}

func TestMalformedBootstrapKeyStopsTheServer(t *testing.T) {
	t.Parallel()
	secret := domain.GenerateKey()
	for name, malformed := range map[string]string{"truncated": secret[:57], "in small letters": strings.ToLower(secret)} {
		folder := t.TempDir()
		_, stderr, code := output(t, folder, "serve", "--set", "auth.bootstrap_key="+malformed)
		if code != 2 || !strings.Contains(stderr, "auth.bootstrap_key = (hidden) (command line): must be an API key") || strings.Contains(stderr, malformed) {
			t.Errorf("%s: code %d, stderr %q", name, code, stderr)
		}
		if _, err := os.Stat(database(folder)); err == nil {
			t.Error("a store was created")
		}
	}
}
