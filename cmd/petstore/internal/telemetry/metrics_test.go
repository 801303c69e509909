package telemetry

import (
	"io"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/prometheus/client_golang/prometheus"

	"example.com/petstore"
	"example.com/petstore/config"
	rest "example.com/petstore/delivery/http"
	"example.com/petstore/internal/engine"
	"example.com/petstore/internal/test/testkit"
	"example.com/petstore/repository/sqlite"
)

// TestMetricsPageHasTheMetricsOfTheService compares docs/metrics.md with what a service registers.
func TestMetricsPageHasTheMetricsOfTheService(t *testing.T) {
	t.Parallel()
	registry := NewRegistry("v1.0.0", "commit", func() bool { return true })
	registry.MustRegister(StoreFile("pets.db"))
	_, _, closeLog, err := NewLogger(config.Log{Level: "info", Format: "json"}, io.Discard, registry)
	testkit.Check(t, err)
	defer closeLog()
	service, err := petstore.New(t.Context(), sqlite.New(filepath.Join(t.TempDir(), "pets.db")), petstore.Options{
		API: rest.Options{Metrics: registry},
	})
	testkit.Check(t, err)
	t.Cleanup(func() { _ = service.Close() })
	descriptions := make(chan *prometheus.Desc)
	go func() { registry.Describe(descriptions); close(descriptions) }()
	want := map[string]string{} // the labels by name of the metric
	for description := range descriptions {
		pattern := regexp.MustCompile(`fqName: "((?:petstore|go_sql)_\w+)".* constLabels: {(\w*).* variableLabels: {(.*)}}`)
		metric := pattern.FindStringSubmatch(description.String())
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

// rows returns the first two cells of the rows of docs/metrics.md whose first cell is in backquotes and
// matches a pattern.
func rows(t *testing.T, first string) (cells [][]string) {
	t.Helper()
	page, err := os.ReadFile("../../../../docs/metrics.md")
	testkit.Check(t, err)
	for _, row := range regexp.MustCompile("(?m)^\\| `("+first+")` \\|([^|]*)\\|").FindAllStringSubmatch(string(page), -1) {
		cells = append(cells, row[1:])
	}
	return cells
}
