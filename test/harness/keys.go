package harness

import (
	"net/http"
	"regexp"
	"testing"
)

// RotationPattern matches what petstore keys rotate says on standard error.
var RotationPattern = regexp.MustCompile(`^petstore: the new API key has the id (\d+); the old one, (\d+), is revoked at (\S+)\n$`)

// PrintedKey runs petstore keys with args and returns the key that it prints. It fails the
// test if anything else is printed, but for what keys rotate says.
func PrintedKey(t *testing.T, dir string, args ...string) string {
	t.Helper()
	stdout, stderr, code := Run(t, dir, append([]string{"keys"}, args...)...)
	key := KeyPattern.FindString(stdout)
	if code != 0 || key == "" || stdout != key+"\n" || RotationPattern.MatchString(stderr) != (args[0] == "rotate") || stderr != "" && args[0] != "rotate" {
		t.Fatalf("petstore keys %v: got code %d, stdout %q, stderr %q, want only a key", args, code, stdout, stderr)
	}
	return key
}

// WantKeyStatus sends a GET with each key and expects a status.
func (s *Server) WantKeyStatus(t *testing.T, want int, keys ...string) {
	t.Helper()
	for _, key := range keys {
		status, body, err := s.Do(t.Context(), http.MethodGet, "/v1/pets", "", "Authorization", "Bearer "+key)
		if err != nil || status != want {
			t.Errorf("got %d %s %v, want %d", status, body, err, want)
		}
	}
}
