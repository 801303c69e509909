package telemetry

import (
	"fmt"
	"io"
	"regexp"
	"slices"
	"strings"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/prometheus/client_golang/prometheus"
	"go.uber.org/zap"

	"example.com/petstore/config"
	"example.com/petstore/internal/test/testkit"
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
		log, _, closeLog, err := NewLogger(config.Log{Level: "info", Format: "json"}, disk, prometheus.NewRegistry())
		testkit.Check(t, err)
		log.Info("early")
		time.Sleep(logFlushInterval)
		synctest.Wait()
		if disk.writes != 1 {
			t.Fatalf("got %d writes, want the one that fails", disk.writes)
		}
		log.Info("late", zap.String("shop", "pets"))
		log.Debug("below the level")
		time.Sleep(logFlushInterval)
		synctest.Wait()
		pattern := regexp.MustCompile(`^{"level":"info","time":"2[^"]+Z","msg":"early"}\n` +
			`{"level":"info","time":"2[^"]+Z","msg":"late","shop":"pets"}\n$`)
		if text := disk.String(); !pattern.MatchString(text) {
			t.Errorf("got the log %q, want it to match %s", text, pattern)
		}
		closeLog()
	})
}

func TestLogWriterDropsLinesWhenItsBufferIsFull(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		log, out := io.Pipe() // a write blocks until it is read
		w := newLogWriter(out, prometheus.NewCounter(prometheus.CounterOpts{Name: "dropped"}),
			func(lines int) []byte { return fmt.Appendf(nil, "dropped %d\n", lines) })
		dropped := func() int {
			w.mu.Lock()
			defer w.mu.Unlock()
			return w.unreported
		}
		if _, err := w.Write([]byte("first\n")); err != nil {
			t.Fatal(err)
		}
		time.Sleep(logFlushInterval)
		synctest.Wait() // the writer is blocked
		want := []string{"first\n"}
		for i := 0; dropped() < 2; i++ {
			line := fmt.Sprintf("%d%s\n", i, strings.Repeat(".", 1000))
			if n, err := w.Write([]byte(line)); n != len(line) || err != nil {
				t.Fatalf("Write: got %d, %v, want %d and no error", n, err, len(line))
			}
			if dropped() == 0 {
				want = append(want, line)
			}
			if i*len(line) > 2*maxLogBuffer {
				t.Fatalf("no line was dropped after %d bytes", i*len(line))
			}
		}
		lines := make(chan []string)
		go func() {
			text, _ := io.ReadAll(log) // out is closed without an error
			lines <- slices.Collect(strings.Lines(string(text)))
		}()
		time.Sleep(2 * logFlushInterval)
		synctest.Wait() // the dropped lines are reported
		if _, err := w.Write([]byte("last\n")); err != nil {
			t.Fatal(err)
		}
		w.Close()
		_ = out.Close() // Close returns no error
		want = append(want, "dropped 2\n", "last\n")
		if diff := cmp.Diff(want, <-lines); diff != "" {
			t.Errorf("the log (-want +got)\n%s", diff)
		}
	})
}
