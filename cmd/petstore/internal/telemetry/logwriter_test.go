package telemetry

import (
	"fmt"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
)

// A blockedWriter blocks each write until unblock is closed.
type blockedWriter struct {
	strings.Builder
	unblock chan struct{}
}

func (w *blockedWriter) Write(p []byte) (int, error) {
	<-w.unblock
	return w.Builder.Write(p)
}

func TestLogWriterDropsLinesWhenItsBufferIsFull(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		out := &blockedWriter{unblock: make(chan struct{})}
		w := newLogWriter(out, RegisterLogMetrics(NewRegistry()), func(lines int) []byte { return fmt.Appendf(nil, "dropped %d\n", lines) })
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
		close(out.unblock)
		time.Sleep(2 * logFlushInterval)
		synctest.Wait() // the dropped lines are reported
		if _, err := w.Write([]byte("last\n")); err != nil {
			t.Fatal(err)
		}
		w.Close()
		want = append(want, "dropped 2\n", "last\n")
		var got []string
		for line := range strings.Lines(out.String()) {
			got = append(got, line)
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("the log (-want +got)\n%s", diff)
		}
	})
}
