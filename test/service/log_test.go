package service

import (
	"encoding/json"
	"net/http"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

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

func TestLogDescribesTheServiceWhenItStarts(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	harness.Check(t, os.WriteFile(filepath.Join(dir, "shop.yaml"), []byte("log: {level: info}\n"), 0o600))
	var build struct{ Version, Commit string }
	harness.Check(t, json.Unmarshal([]byte(harness.RunOK(t, dir, "version", "--output", "json")), &build))
	want := map[string]any{
		"version": build.Version, "commit": build.Commit,
		"store": harness.StorePath(dir), "schema_version": float64(5), "store_created": true,
		"settings_file": filepath.Join(dir, "shop.yaml"),
	}
	first := harness.Start(t, dir, "--config", "shop.yaml")
	want["address"] = strings.TrimPrefix(first.URL, "http://")
	if diff := cmp.Diff(want, servingLine(t, first)); diff != "" {
		t.Errorf("new store (-want +got)\n%s", diff)
	}
	first.Stop(t)

	second := harness.Start(t, dir)
	want["address"], want["store_created"] = strings.TrimPrefix(second.URL, "http://"), false
	delete(want, "settings_file")
	if diff := cmp.Diff(want, servingLine(t, second)); diff != "" {
		t.Errorf("existing store, no settings file (-want +got)\n%s", diff)
	}
}

// servingLine returns the log entry "serving" of a server without level, time and message.
func servingLine(t *testing.T, s *harness.Server) (line map[string]any) {
	t.Helper()
	entry := regexp.MustCompile(`(?m)^.*"msg":"serving",.*$`)
	harness.Eventually(t, "the log has an entry serving", func() bool {
		return json.Unmarshal([]byte(entry.FindString(s.Log.String())), &line) == nil
	})
	for _, member := range []string{"level", "time", "msg"} {
		delete(line, member)
	}
	return line
}
