package telemetry

import (
	"fmt"
	"io"
	"os"
	"path/filepath"
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

	"example.com/petstore"
	"example.com/petstore/config"
	"example.com/petstore/repository/engine"
	"example.com/petstore/repository/sqlite"
	"example.com/petstore/repository/storetest"
)

// TestMetricsPageHasTheMetricsOfTheService compares docs/metrics.md with what a service registers.
func TestMetricsPageHasTheMetricsOfTheService(t *testing.T) {
	t.Parallel()
	registry := NewRegistry(func() bool { return true })
	_, _, closeLog, err := NewLogger(config.Log{Level: "info", Format: "json"}, io.Discard, registry)
	storetest.Check(t, err)
	defer closeLog()
	service, err := petstore.New(t.Context(), petstore.Options{
		Store: sqlite.New(filepath.Join(t.TempDir(), "pets.db")), Metrics: registry, RecordChanges: true,
	})
	storetest.Check(t, err)
	t.Cleanup(func() { _ = service.Close() })
	descriptions := make(chan *prometheus.Desc)
	go func() { registry.Describe(descriptions); close(descriptions) }()
	want := map[string]string{} // the labels by name
	for description := range descriptions {
		metric := regexp.MustCompile(`fqName: "((?:petstore|go_sql)_\w+)".* constLabels: {(\w*).* variableLabels: {(.*)}}`).FindStringSubmatch(description.String())
		if metric != nil {
			want[metric[1]] = metric[2] + metric[3]
		}
	}
	got := map[string]string{}
	for _, row := range rows(t, "(?:petstore|go_sql)_[^|]+") {
		for name := range strings.SplitSeq(row[0], "`, `") {
			got[name] = strings.ReplaceAll(strings.ReplaceAll(row[1], "`", ""), " ", "")
		}
	}
	if diff := cmp.Diff(want, got); diff != "" || len(want) < 10 {
		t.Errorf("labels of metrics of the service and of the page (-want +got):\n%s", diff)
	}
}

func TestMetricsPageHasTheKindsOfStoreErrors(t *testing.T) {
	t.Parallel()
	var got, want []string
	for _, row := range rows(t, `[a-z_, `+"`"+`]+`) {
		if !strings.HasPrefix(row[0], "petstore_") && !strings.HasPrefix(row[0], "go_sql_") {
			got = append(got, strings.Split(row[0], "`, `")...)
		}
	}
	for _, failure := range engine.Failures() {
		want = append(want, string(failure))
	}
	slices.Sort(got)
	slices.Sort(want)
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("kinds of errors of the store and of the page (-want +got)\n%s", diff)
	}
}

// rows returns the first two cells of the rows of docs/metrics.md whose first cell is in backquotes
// and matches a pattern.
func rows(t *testing.T, first string) (cells [][]string) {
	t.Helper()
	page, err := os.ReadFile("../../../../docs/metrics.md")
	storetest.Check(t, err)
	for _, row := range regexp.MustCompile("(?m)^\\| `("+first+")` \\|([^|]*)\\|").FindAllStringSubmatch(string(page), -1) {
		cells = append(cells, row[1:])
	}
	return cells
}

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
		storetest.Check(t, err)
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
		pattern := regexp.MustCompile(`^{"level":"info","time":"2[^"]+Z","msg":"early"}\n{"level":"info","time":"2[^"]+Z","msg":"late","shop":"pets"}\n$`)
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
		w := newLogWriter(out, prometheus.NewCounter(prometheus.CounterOpts{Name: "dropped"}), func(lines int) []byte { return fmt.Appendf(nil, "dropped %d\n", lines) })
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
		_ = out.Close() // returns no error
		want = append(want, "dropped 2\n", "last\n")
		if diff := cmp.Diff(want, <-lines); diff != "" {
			t.Errorf("the log (-want +got)\n%s", diff)
		}
	})
}
