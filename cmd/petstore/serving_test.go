package main

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestLogSaysWhatIsServed(t *testing.T) {
	t.Parallel()
	folder := t.TempDir()
	if err := os.WriteFile(filepath.Join(folder, "shop.yaml"), []byte("log: {level: info}\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	version, commit := buildVersion()
	want := map[string]any{
		"version": version, "commit": commit,
		"store": database(folder), "schema_version": float64(1), "store_created": true,
		"settings_file": filepath.Join(folder, "shop.yaml"),
	}
	first := start(t, folder, "--config", "shop.yaml")
	want["address"] = strings.TrimPrefix(first.url, "http://")
	if diff := cmp.Diff(want, servingLine(t, first)); diff != "" {
		t.Errorf("a new store (-want +got)\n%s", diff)
	}
	stop(t, first)

	second := start(t, folder)
	want["address"], want["store_created"] = strings.TrimPrefix(second.url, "http://"), false
	delete(want, "settings_file")
	if diff := cmp.Diff(want, servingLine(t, second)); diff != "" {
		t.Errorf("an old store without a settings file (-want +got)\n%s", diff)
	}
}

// servingLine returns what the log says of a server that has started, without level,
// time and message.
func servingLine(t *testing.T, s *process) (line map[string]any) {
	t.Helper()
	until(t, "the log says that it serves", func() bool {
		for text := range strings.Lines(s.log.String()) {
			if strings.Contains(text, `"msg":"serving",`) {
				return json.Unmarshal([]byte(text), &line) == nil
			}
		}
		return false
	})
	delete(line, "level")
	delete(line, "time")
	delete(line, "msg")
	return line
}
