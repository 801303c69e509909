package service

import (
	"net/http"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"example.com/petstore/domain/apikey"
	"example.com/petstore/internal/test/testkit"
	"example.com/petstore/test/harness"
)

// TestKeysAreManagedWhileAServerRuns uses keys, which the server caches, while commands change them.
func TestKeysAreManagedWhileAServerRuns(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	s := harness.Start(t, dir) // creates the key 1
	wantAccepted := func(keys ...string) {
		t.Helper()
		for _, key := range keys {
			s.WantStatus(t, "/v1/pets", http.StatusOK, "Authorization", "Bearer "+key)
		}
	}
	// wantRejected sends requests until the server rejects the key, within 5 seconds of its end.
	wantRejected := func(key string, ends time.Time) {
		t.Helper()
		testkit.WaitUntilWithin(t, time.Until(ends)+5*time.Second, "the key is rejected", func() bool {
			status, body, err := s.Do(t.Context(), http.MethodGet, "/v1/pets", "", "Authorization", "Bearer "+key)
			if err != nil || status != http.StatusOK && (status != http.StatusUnauthorized || !strings.Contains(body, `"invalid_api_key"`)) {
				t.Fatal(status, body, err)
			}
			return status == http.StatusUnauthorized
		})
	}
	lifetime := testkit.Scaled(3 * time.Second)
	expiring, ends := harness.PrintedKey(t, dir, "create", "--name", "till 1", "--expires", lifetime.String()), time.Now().Add(lifetime) // id 2
	wantAccepted(expiring)
	first := harness.PrintedKey(t, dir, "create", "--name", "till 1", "--expires", "90d") // id 3
	wantAccepted(first)
	second := harness.PrintedKey(t, dir, "rotate", "3", "--overlap", "24h")
	wantAccepted(first, second)
	third := harness.PrintedKey(t, dir, "rotate", "4")
	wantAccepted(first, second, third)

	harness.RunOK(t, dir, "keys", "revoke", "3")
	harness.RunOK(t, dir, "keys", "revoke", "3")
	wantRejected(first, time.Now())
	last := harness.PrintedKey(t, dir, "rotate", "5", "--overlap", "0s")
	wantRejected(third, time.Now())
	wantRejected(expiring, ends)
	wantAccepted(second, last, s.Key)

	harness.WantError(t, dir, "keys rotate 5", "the API key with the id 5 is revoked and cannot be rotated")

	readOnly := harness.PrintedKey(t, dir, "create", "--name", "public page", "--read-only")
	wantAccepted(readOnly)
	if status, body, err := s.Post(t.Context(), harness.PetBody("Rex"), "Authorization", "Bearer "+readOnly); err != nil ||
		status != http.StatusForbidden {
		t.Errorf("a write with a read-only key: got %d %s %v, want 403", status, body, err)
	}

	invalid := strings.ToLower(last)
	s.WantStatus(t, "/v1/pets", http.StatusUnauthorized, "Authorization", "Bearer "+invalid)
	s.WantStatus(t, "/v1/pets", http.StatusUnauthorized, "Authorization", "Bearer "+last[:len(last)-1])
	texts := s.Log.String() + harness.RunOK(t, dir, "keys", "list") + harness.RunOK(t, dir, "keys", "list", "--output", "json")
	for _, file := range []string{"", "-wal"} {
		texts += harness.ReadFile(t, harness.StorePath(dir)+file)
	}
	for _, secret := range []string{first, second, third, last, s.Key, invalid} {
		if body := strings.TrimPrefix(secret, "petstore_"); strings.Contains(texts, body) {
			t.Errorf("the log, a list or the store contains %q", secret)
		}
	}
}

func TestServerAcceptsItsBootstrapKeyUntilItIsRevoked(t *testing.T) {
	t.Parallel()
	dir, secret := t.TempDir(), apikey.Generate()
	harness.WriteFile(t, dir, "key", secret+"\n")
	for range 2 {
		file := "export PETSTORE_AUTH_BOOTSTRAP_KEY_FILE=" + filepath.Join(dir, "key")
		s := harness.StartCommand(t, harness.CommandAfter(t.Context(), dir, file, "serve", "--first-key"))
		s.WantStatus(t, "/v1/pets", http.StatusOK, "Authorization", "Bearer "+secret)
		if s.Key != "" || strings.Contains(s.Log.String(), secret) {
			t.Errorf("a first key was created in addition to the bootstrap key, or the log contains it:\n%s", s.Log)
		}
		s.Stop(t)
	}
	harness.RunOK(t, dir, "keys", "revoke", "1")
	s := harness.StartCommand(t, harness.CommandAfter(t.Context(), dir, "export PETSTORE_AUTH_BOOTSTRAP_KEY="+secret, "serve", "--first-key"))
	s.WantStatus(t, "/v1/pets", http.StatusUnauthorized, "Authorization", "Bearer "+secret)
}

func TestServeSaysHowToMakeAKeyIfNoneIsValid(t *testing.T) {
	t.Parallel()
	dir := harness.NewStore(t)
	harness.PrintedKey(t, dir, "create", "--name", "till-1")
	for _, revoked := range []bool{false, true} {
		if revoked {
			harness.RunOK(t, dir, "keys", "revoke", "1")
		}
		address := harness.FreeAddress(t)
		s := harness.Launch(t, harness.Command(t.Context(), dir, "serve", "--set", "server.address="+address), address)
		testkit.WaitUntil(t, "the server is ready", func() bool { return s.IsReady(t.Context()) })
		warned := func() bool {
			return strings.Contains(s.Log.String(), `"msg":"no API key of the store is valid: run petstore keys create --name NAME"`)
		}
		if revoked {
			testkit.WaitUntil(t, "the log has the warning", warned)
		}
		s.Stop(t)
		if warned() != revoked {
			t.Errorf("the only key is revoked: %t; got the log %s", revoked, s.Log)
		}
	}
}

func TestFirstKeyPrintsAURLThatExists(t *testing.T) {
	t.Parallel()
	for _, enabled := range []string{"true", "false"} {
		s := harness.Start(t, t.TempDir(), "--set", "docs.enabled="+enabled)
		s.WantStatus(t, strings.TrimPrefix(s.Page, s.URL), http.StatusOK)
	}
}
