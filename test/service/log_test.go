package service

import (
	"net/http"
	"strings"
	"testing"
	"time"

	"example.com/petstore/test/harness"
)

func TestServerServesAfterTheReaderOfItsLogExits(t *testing.T) {
	t.Parallel()
	cmd := harness.Command(t.Context(), t.TempDir(), "serve", "--first-key")
	cmd.Stderr = harness.BrokenPipe(t)
	s := harness.StartCommand(t, cmd)
	for range 3 {
		s.WantStatus(t, "/v1/pets", http.StatusOK)
		time.Sleep(200 * time.Millisecond) // until the line of the request was written
	}
}

func TestLogDoesNotContainTheAPIKey(t *testing.T) {
	t.Parallel()
	s := harness.Start(t, t.TempDir(), "--set", "log.level=debug")
	for _, path := range []string{"/v1/pets?access_token=" + s.Key, "/v1/pets/" + s.Key, "/" + s.Key, "/readyz?" + s.Key} {
		if _, _, err := s.Do(t.Context(), http.MethodGet, path, "", "User-Agent", s.Key, "Referer", s.Key); err != nil {
			t.Fatal(err)
		}
	}
	s.Stop(t)
	log := s.Log.String()
	if got := strings.Count(log, `"msg":"request"`); got != 4 || strings.Contains(log, s.Key[9:]) || !strings.HasSuffix(log, "\"msg\":\"stopped\"}\n") {
		t.Errorf("got a log with %d requests, want 4, no API key and the line stopped:\n%s", got, log)
	}
}
