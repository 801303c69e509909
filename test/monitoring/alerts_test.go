package monitoring

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"os/exec"
	"regexp"
	"strings"
	"sync"
	"testing"

	"example.com/petstore/test/harness"

	"github.com/google/go-cmp/cmp"
)

func TestAlertingRulesFireAsTheirUnitTestsExpect(t *testing.T) {
	t.Parallel()
	for _, args := range [][]string{{"check", "rules", "../../docs/deploy/alerts.yaml"}, {"test", "rules", "testdata/alerts.test.yaml"}} {
		if output, err := exec.CommandContext(t.Context(), "promtool", args...).CombinedOutput(); err != nil {
			t.Errorf("promtool %v: %v\n%s", args, err, output)
		}
	}
}

// TestDashboardAndAlertsFindDataOfRunningServer lets Prometheus scrape a server that clients
// use, and evaluate the queries of the dashboard and the alerting rules.
func TestDashboardAndAlertsFindDataOfRunningServer(t *testing.T) {
	t.Parallel()
	dir := harness.NewStore(t)
	harness.PrintedKey(t, dir, "create", "--name", "till-1", "--expires", "3d")
	s := harness.Start(t, dir, "--set", "admin.address=127.0.0.1:0", "--set", "rate_limit.requests=100", "--set", "rate_limit.window=1s")
	s.Key = harness.PrintedKey(t, dir, "create", "--name", "till-2")
	p := startPrometheus(t, s.AdminURL(t))
	ctx, stop := context.WithCancel(t.Context())
	var client sync.WaitGroup
	client.Go(func() { useEveryOperation(s, ctx, t) })
	defer func() { stop(); client.Wait() }()

	p.wantData(t, `count(count by (route, method) (petstore_http_request_duration_seconds_count{status=~"2.."})) == 8`)
	variables := strings.NewReplacer("$job", "petstore", "$__rate_interval_ms", "2000", "$__rate_interval", "2s")
	for _, query := range dashboardQueries(t) {
		p.wantData(t, variables.Replace(query))
	}
	for _, rule := range p.rules(t) {
		for _, metric := range regexp.MustCompile(`petstore_[a-z_]+`).FindAllString(rule.Query, -1) {
			p.wantData(t, "count("+metric+")")
		}
	}
	firing := map[string]string{}
	harness.Eventually(t, "Prometheus has evaluated the rules with these data", func() bool {
		for _, rule := range p.rules(t) {
			if rule.Health == "err" {
				t.Fatalf("%s: %s", rule.Name, rule.LastError)
			}
			for _, alert := range rule.Alerts {
				if alert.State == "firing" {
					firing[rule.Name] = alert.Labels["key_id"]
				}
			}
		}
		return len(firing) >= 2
	})
	if diff := cmp.Diff(map[string]string{"PetstoreKeyExpires": "1", "PetstoreDeprecatedRequests": "2"}, firing); diff != "" {
		t.Errorf("firing alerts and their keys (-want +got):\n%s", diff)
	}
}

// useEveryOperation sends requests to every operation, and some that are rejected, until ctx
// ends. With a rate limit, those of the first seconds suffice to sell animals.
func useEveryOperation(s *harness.Server, ctx context.Context, t *testing.T) {
	for i := 1; ctx.Err() == nil; i++ {
		order := fmt.Sprintf("/v1/store/orders/%d", i)
		for _, request := range []struct{ method, path, body string }{
			{http.MethodPost, "/v1/pets", harness.PetBody("Rex")},
			{http.MethodGet, "/v1/pets", ""},
			{http.MethodGet, "/v1/pets", ""}, // from the cache
			{http.MethodGet, fmt.Sprintf("/v1/pets/%d", i), ""},
			{http.MethodPost, "/v1/store/orders", fmt.Sprintf(`{"petId":%d}`, i)},
			{http.MethodGet, "/v1/store/orders", ""},
			{http.MethodGet, order, ""},
			{http.MethodPost, order + []string{"/deliver", "/cancel"}[i%2], ""},
			{http.MethodPost, "/v1/pets", "{}"}, // rejected
			{http.MethodGet, "/v1/nowhere", ""},
		} {
			if _, _, err := s.Do(ctx, request.method, request.path, request.body); err != nil && ctx.Err() == nil {
				t.Error(err)
			}
		}
	}
}

// dashboardQueries returns the queries of docs/grafana.json.
func dashboardQueries(t *testing.T) (queries []string) {
	t.Helper()
	var dashboard struct {
		Panels []struct{ Targets []struct{ Expr string } }
	}
	if err := json.Unmarshal([]byte(harness.ReadFile(t, "../../docs/grafana.json")), &dashboard); err != nil {
		t.Fatal(err)
	}
	for _, panel := range dashboard.Panels {
		for _, target := range panel.Targets {
			queries = append(queries, target.Expr)
		}
	}
	return queries
}
