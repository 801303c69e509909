package telemetry

import (
	"regexp"
	"strings"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"go.uber.org/zap"

	"example.com/petstore/config"
)

// A fullDisk is a writer that writes half of the first write and then returns ENOSPC.
type fullDisk struct {
	strings.Builder
	writes int
}

func (d *fullDisk) Write(p []byte) (int, error) {
	if d.writes++; d.writes == 1 {
		n, _ := d.Builder.Write(p[:len(p)/2])
		return n, syscall.ENOSPC
	}
	return d.Builder.Write(p)
}

func TestLogContinuesAfterAFailedWrite(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		disk := &fullDisk{}
		log, _, closeLog, err := NewLogger(config.Log{Level: "info", Format: "json"}, disk, RegisterLogMetrics(NewRegistry()))
		if err != nil {
			t.Fatal(err)
		}
		log.Info("early")
		time.Sleep(logFlushInterval)
		synctest.Wait()
		if disk.writes != 1 {
			t.Fatalf("got %d writes, want the one that fails", disk.writes)
		}
		log.Info("late", zap.String("shop", "pets"))
		log.Debug("below the level")
		closeLog()
		pattern := regexp.MustCompile(`^{"level":"info","time":"2[^"]+Z","msg":"early"}\n{"level":"info","time":"2[^"]+Z","msg":"late","shop":"pets"}\n$`)
		if text := disk.String(); !pattern.MatchString(text) {
			t.Errorf("got the log %q, want it to match %s", text, pattern)
		}
	})
}
