package main

import (
	"net/http"
	"strings"
	"testing"
	"time"
)

func TestServerServesAfterTheReaderOfItsLogExits(t *testing.T) {
	t.Parallel()
	cmd := command(t.Context(), t.TempDir(), "serve", "--first-key")
	s := startServerCommandWithLog(t, cmd, brokenPipe(t))
	for range 3 {
		s.wantStatus(t, "/v1/pets", http.StatusOK)
		time.Sleep(200 * time.Millisecond) // until the line of the request was written
	}
}

func TestLogDoesNotContainTheAPIKey(t *testing.T) {
	t.Parallel()
	s := startServer(t, t.TempDir(), "--set", "log.level=debug")
	for _, path := range []string{"/v1/pets?access_token=" + s.key, "/v1/pets/" + s.key, "/" + s.key, "/readyz?" + s.key} {
		if _, _, err := s.do(t.Context(), http.MethodGet, path, "", "User-Agent", s.key, "Referer", s.key); err != nil {
			t.Fatal(err)
		}
	}
	s.stop(t)
	log := s.log.String()
	if got := strings.Count(log, `"msg":"request"`); got != 4 || strings.Contains(log, s.key[9:]) || !strings.HasSuffix(log, "\"msg\":\"stopped\"}\n") {
		t.Errorf("got a log with %d requests, want 4, no API key and the line stopped:\n%s", got, log)
	}
}
