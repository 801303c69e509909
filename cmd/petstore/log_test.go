package main

import (
	"net/http"
	"regexp"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"go.uber.org/zap"

	"example.com/petstore/config"
)

// A fullDisk is a writer that writes half of the first write and then returns ENOSPC.
type fullDisk struct {
	syncBuffer
	writes atomic.Int64
}

func (d *fullDisk) Write(p []byte) (int, error) {
	if d.writes.Add(1) == 1 {
		n, _ := d.syncBuffer.Write(p[:len(p)/2])
		return n, syscall.ENOSPC
	}
	return d.syncBuffer.Write(p)
}

func TestLogContinuesAfterAFailedWrite(t *testing.T) {
	t.Parallel()
	disk := &fullDisk{}
	log, _, closeLog, err := newLogger(config.Log{Level: "info", Format: "json"}, disk, registerLogMetrics(newRegistry()))
	if err != nil {
		t.Fatal(err)
	}
	log.Info("early")
	waitUntil(t, "a write has failed", func() bool { return disk.writes.Load() > 0 })
	log.Info("late", zap.String("shop", "pets"))
	log.Debug("below the level")
	closeLog()
	pattern := regexp.MustCompile(`^{"level":"info","time":"2[^"]+Z","msg":"early"}\n{"level":"info","time":"2[^"]+Z","msg":"late","shop":"pets"}\n$`)
	if text := disk.String(); !pattern.MatchString(text) {
		t.Errorf("got the log %q, want it to match %s", text, pattern)
	}
}

func TestServerServesAfterTheReaderOfItsLogExits(t *testing.T) {
	t.Parallel()
	cmd := command(t.Context(), t.TempDir(), "serve", "--first-key")
	s := startServerCommandWithLog(t, cmd, brokenPipe(t))
	for range 3 {
		s.wantStatus(t, "/v1/pets", http.StatusOK)
		time.Sleep(2 * logFlushInterval) // until the line of the request was written
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
