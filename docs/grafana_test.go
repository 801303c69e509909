package docs_test

import (
	"encoding/json"
	"os"
	"regexp"
	"strings"
	"testing"
)

// increase and rate ignore the first value of a counter, so a panel that shows the first
// request of a key adds the values of counters that did not exist before.
func TestGrafanaPanelsOfKeysShowTheFirstRequest(t *testing.T) {
	t.Parallel()
	file, err := os.ReadFile("grafana.json")
	if err != nil {
		t.Fatal(err)
	}
	var dashboard struct {
		Panels []struct{ Targets []struct{ Expr string } }
	}
	if err := json.Unmarshal(file, &dashboard); err != nil {
		t.Fatal(err)
	}
	for _, metric := range []string{"petstore_http_deprecated_requests_total", "petstore_http_rate_limited_requests_total"} {
		counter := "max_over_time\\(" + metric + `\{job=~"\$job"\}\[[^]]+\]`
		newCounters := regexp.MustCompile(counter + `\) unless ` + counter + ` offset [^)]+\)`)
		queries := 0
		for _, panel := range dashboard.Panels {
			for _, target := range panel.Targets {
				if !strings.Contains(target.Expr, metric) {
					continue
				}
				queries++
				if !newCounters.MatchString(target.Expr) {
					t.Errorf("no match for %s in the query %s", newCounters, target.Expr)
				}
			}
		}
		if queries == 0 {
			t.Errorf("no panel shows %s", metric)
		}
	}
}
