package telemetry_test

import (
	"io"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/prometheus/client_golang/prometheus"

	"example.com/petstore"
	"example.com/petstore/cmd/petstore/internal/telemetry"
	"example.com/petstore/config"
	"example.com/petstore/repository/engine"
	"example.com/petstore/repository/sqlite"
)

// TestMetricsPageHasTheMetricsOfTheService compares docs/metrics.md with what a service registers.
func TestMetricsPageHasTheMetricsOfTheService(t *testing.T) {
	t.Parallel()
	registry := telemetry.NewRegistry(func() bool { return true })
	_, _, closeLog, err := telemetry.NewLogger(config.Log{Level: "info", Format: "json"}, io.Discard, registry)
	if err != nil {
		t.Fatal(err)
	}
	defer closeLog()
	service, err := petstore.New(t.Context(), petstore.Options{
		Store: sqlite.New(filepath.Join(t.TempDir(), "pets.db")), Metrics: registry, RecordChanges: true,
	})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = service.Close() })
	descriptions := make(chan *prometheus.Desc)
	go func() { registry.Describe(descriptions); close(descriptions) }()
	want := map[string]string{} // the labels by name
	for description := range descriptions {
		metric := regexp.MustCompile(`fqName: "(petstore_\w+)".* variableLabels: {(.*)}}`).FindStringSubmatch(description.String())
		if metric != nil {
			want[metric[1]] = metric[2]
		}
	}
	got := map[string]string{}
	for _, row := range rows(t, `petstore_\w+`) {
		got[row[0]] = strings.ReplaceAll(strings.ReplaceAll(row[1], "`", ""), " ", "")
	}
	if diff := cmp.Diff(want, got); diff != "" || len(want) < 10 {
		t.Errorf("labels of metrics of the service and of the page (-want +got):\n%s", diff)
	}
}

func TestMetricsPageHasTheKindsOfStoreErrors(t *testing.T) {
	t.Parallel()
	kinds := map[string]bool{}
	for _, row := range rows(t, `[a-z_, `+"`"+`]+`) {
		for kind := range strings.SplitSeq(row[0], "`, `") {
			kinds[kind] = true
		}
	}
	for _, failure := range engine.Failures() {
		if !kinds[string(failure)] {
			t.Errorf("the page lacks the kind %s", failure)
		}
		delete(kinds, string(failure))
	}
	for kind := range kinds {
		if !strings.HasPrefix(kind, "petstore_") {
			t.Errorf("the page has the kind %s, which does not exist", kind)
		}
	}
}

// rows returns the first two cells of the rows of docs/metrics.md whose first cell is in backquotes
// and matches a pattern.
func rows(t *testing.T, first string) (cells [][]string) {
	t.Helper()
	page, err := os.ReadFile("../../../../docs/metrics.md")
	if err != nil {
		t.Fatal(err)
	}
	for _, row := range regexp.MustCompile("(?m)^\\| `("+first+")` \\|([^|]*)\\|").FindAllStringSubmatch(string(page), -1) {
		cells = append(cells, row[1:])
	}
	return cells
}
