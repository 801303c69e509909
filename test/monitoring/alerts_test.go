package monitoring

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"net/url"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"
	"go.yaml.in/yaml/v3"

	"example.com/petstore/config"
	"example.com/petstore/internal/engine"
	"example.com/petstore/internal/test/testkit"
	"example.com/petstore/test/harness"
)

func TestAlertingRulesFireAsTheirUnitTestsExpect(t *testing.T) {
	t.Parallel()
	for _, args := range [][]string{{"check", "rules", "../../docs/deploy/alerts.yaml"}, {"test", "rules", "testdata/alerts.test.yaml"}} {
		if output, err := exec.CommandContext(t.Context(), "promtool", args...).CombinedOutput(); err != nil {
			t.Errorf("promtool %v: %v\n%s", args, err, output)
		}
	}
}

// TestPrometheusAndTheAdminListenerHaveDifferentPorts also expects that the example of alerts.yaml scrapes the default
// listener.
func TestPrometheusAndTheAdminListenerHaveDifferentPorts(t *testing.T) {
	t.Parallel()
	settings, err := config.Load(config.Options{File: "../../config/petstore.example.yaml"})
	testkit.Check(t, err)
	const prometheus = ":9090" // the default of its --web.listen-address
	target := fmt.Sprintf("targets: [%q]", settings.Admin.Address)
	if strings.HasSuffix(settings.Admin.Address, prometheus) || !strings.Contains(harness.ReadFile(t, "../../docs/deploy/alerts.yaml"), target) {
		t.Errorf("got admin.address %s, want another port than %s, and %s in alerts.yaml", settings.Admin.Address, prometheus, target)
	}
}

// ofHosts is the metric that only a host program has, because the petstore program does not call Follow.
const ofHosts = "petstore_changes_follow_lag_seconds"

// TestDashboardAndAlertsFindDataOfRunningServer lets Prometheus scrape a server that clients use.
// Prometheus evaluates the queries of the dashboard and the alerting rules.
func TestDashboardAndAlertsFindDataOfRunningServer(t *testing.T) {
	t.Parallel()
	dir := harness.NewStore(t)
	harness.PrintedKey(t, dir, "create", "--name", "till-1", "--expires", "3d")
	s := harness.Start(t, dir, "--set", "admin.address=127.0.0.1:0", "--set", "rate_limit.requests=30", "--set", "rate_limit.window=1s")
	s.Key = harness.PrintedKey(t, dir, "create", "--name", "till-2")
	p := startPrometheus(t, s.AdminURL(t))
	ctx, stop := context.WithCancel(t.Context())
	var client sync.WaitGroup
	client.Go(func() { useEveryOperation(s, ctx, t) })
	defer func() { stop(); client.Wait() }()

	p.wantData(t, `count(count by (route, method) (petstore_http_request_duration_seconds_count{status=~"2.."})) == 12`)
	variables := strings.NewReplacer("$job", "petstore", "$__rate_interval_ms", "2000", "$__rate_interval", "2s")
	for _, query := range dashboardQueries(t) {
		p.wantData(t, variables.Replace(query))
	}
	for _, rule := range alertRules(t) {
		for _, metric := range regexp.MustCompile(`petstore_[a-z_]+`).FindAllString(rule.Expr, -1) {
			if metric != ofHosts {
				p.wantData(t, "count("+metric+")")
			}
		}
	}
	firing := map[string]string{}
	testkit.WaitUntil(t, "Prometheus has evaluated the rules with these data", func() bool {
		for _, alert := range p.query(t, `ALERTS{alertstate="firing"}`) {
			firing[alert.Metric["alertname"]] = alert.Metric["key_id"]
		}
		return len(firing) >= 2
	})
	if diff := cmp.Diff(map[string]string{"PetstoreKeyExpires": "1", "PetstoreDeprecatedRequests": "2"}, firing); diff != "" {
		t.Errorf("firing alerts and their keys (-want +got):\n%s", diff)
	}
}

// useEveryOperation sends requests to every operation until ctx ends. Some of them are rejected, also by the
// rate limit, which a slow machine must reach, too. Before that, each operation succeeds twice, and an animal is sold.
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
			{http.MethodPost, "/v1/pets/batch", "[" + harness.PetBody("Tom") + "]"},
			{http.MethodPatch, fmt.Sprintf("/v1/pets/%d", i), `{"name":"Max"}`},
			{http.MethodDelete, fmt.Sprintf("/v1/pets/%d", i), ""}, // rejected if the order is delivered
			{http.MethodGet, "/v1/store/inventory", ""},
			{http.MethodPost, "/v1/pets", "{}"}, // rejected
			{http.MethodGet, "/v1/nowhere", ""},
		} {
			if _, _, err := s.Do(ctx, request.method, request.path, request.body); err != nil && ctx.Err() == nil {
				t.Error(err)
			}
		}
	}
}

// dashboardQueries returns the queries of docs/deploy/grafana.json.
func dashboardQueries(t *testing.T) (queries []string) {
	t.Helper()
	var dashboard struct {
		Panels []struct{ Targets []struct{ Expr string } }
	}
	testkit.Check(t, json.Unmarshal([]byte(harness.ReadFile(t, "../../docs/deploy/grafana.json")), &dashboard))
	for _, panel := range dashboard.Panels {
		for _, target := range panel.Targets {
			queries = append(queries, target.Expr)
		}
	}
	return queries
}

// An alertRule is an alerting rule of docs/deploy/alerts.yaml.
type alertRule struct {
	Alert, Expr         string
	Labels, Annotations map[string]string
}

func alertRules(t *testing.T) (rules []alertRule) {
	t.Helper()
	var file struct {
		Groups []struct{ Rules []alertRule }
	}
	testkit.Check(t, yaml.Unmarshal([]byte(harness.ReadFile(t, "../../docs/deploy/alerts.yaml")), &file))
	for _, group := range file.Groups {
		rules = append(rules, group.Rules...)
	}
	return rules
}

func TestEveryAlertHasSeverityRemedyRunbookAndUnitTest(t *testing.T) {
	t.Parallel()
	tests := harness.ReadFile(t, "testdata/alerts.test.yaml")
	var kinds []string    // the kinds of store errors
	var runbooks []string // the headings of docs/runbooks.md
	for _, rule := range alertRules(t) {
		if !slices.Contains([]string{"critical", "warning", "info"}, rule.Labels["severity"]) {
			t.Errorf("%s has the severity %q", rule.Alert, rule.Labels["severity"])
		}
		if rule.Annotations["summary"] == "" || rule.Annotations["remedy"] == "" {
			t.Errorf("%s has no summary or no remedy", rule.Alert)
		}
		runbooks = append(runbooks, "## "+rule.Alert)
		if _, anchor, _ := strings.Cut(rule.Annotations["runbook_url"], "/docs/runbooks.md#"); anchor != strings.ToLower(rule.Alert) {
			t.Errorf("%s has the runbook_url %s", rule.Alert, rule.Annotations["runbook_url"])
		}
		if !strings.Contains(tests, `alertname="`+rule.Alert+`", alertstate="firing"`) {
			t.Errorf("no unit test expects %s to fire", rule.Alert)
		}
		for _, matcher := range regexp.MustCompile(`kind=~?"([^"]+)"`).FindAllStringSubmatch(rule.Expr, -1) {
			kinds = append(kinds, strings.Split(matcher[1], "|")...)
		}
	}
	if diff := cmp.Diff(runbooks, regexp.MustCompile(`(?m)^## .*$`).FindAllString(harness.ReadFile(t, "../../docs/runbooks.md"), -1)); diff != "" {
		t.Errorf("headings of the runbooks (-want +got):\n%s", diff)
	}
	var want []string
	for _, failure := range engine.Failures() {
		want = append(want, string(failure))
	}
	slices.Sort(want)
	slices.Sort(kinds)
	if diff := cmp.Diff(want, slices.Compact(kinds)); diff != "" {
		t.Errorf("kinds of store errors that the alerts include (-want +got):\n%s", diff)
	}
}

// The functions increase and rate ignore the first value of a counter. So these panels add the values of
// counters that did not exist before.
func TestGrafanaPanelsOfKeysShowTheFirstRequest(t *testing.T) {
	t.Parallel()
	queries := strings.Join(dashboardQueries(t), "\n")
	for _, metric := range []string{"petstore_http_deprecated_requests_total", "petstore_http_rate_limited_requests_total"} {
		counter := `max_over_time\(` + metric + `\{job=~"\$job"\}\[[^]]+\]`
		if newCounters := regexp.MustCompile(counter + `\) unless ` + counter + ` offset [^)]+\)`); !newCounters.MatchString(queries) {
			t.Errorf("no match for %s in the queries %s", newCounters, queries)
		}
	}
}

// A prometheusServer is the URL of a running Prometheus.
type prometheusServer string

// startPrometheus starts a Prometheus that scrapes the metrics of the admin listener and
// evaluates docs/deploy/alerts.yaml. The process is killed at the end of the test.
func startPrometheus(t *testing.T, admin string) prometheusServer {
	t.Helper()
	rules, err := filepath.Abs("../../docs/deploy/alerts.yaml")
	testkit.Check(t, err)
	dir, address := t.TempDir(), harness.FreeAddress(t)
	text := fmt.Sprintf(`global: {scrape_interval: 500ms, scrape_timeout: 500ms, evaluation_interval: 500ms}
rule_files: [%q]
scrape_configs: [{job_name: petstore, static_configs: [{targets: [%q]}]}]
`, rules, strings.TrimPrefix(admin, "http://"))
	harness.WriteFile(t, dir, "prometheus.yml", text)
	cmd := exec.CommandContext(t.Context(), "prometheus",
		"--config.file", dir+"/prometheus.yml", "--storage.tsdb.path", dir+"/data", "--web.listen-address", address, "--log.level", "warn")
	cmd.Stderr = t.Output()
	if err := cmd.Start(); err != nil {
		t.Fatalf("%v (make deps installs it)", err)
	}
	t.Cleanup(func() { _ = cmd.Process.Kill(); _ = cmd.Wait() })
	p := prometheusServer("http://" + address)
	testkit.WaitUntil(t, "Prometheus is ready", func() bool {
		status, _, err := (&harness.Server{URL: string(p)}).Do(t.Context(), http.MethodGet, "/-/ready", "")
		return err == nil && status == http.StatusOK
	})
	return p
}

// A sample is a time series in the result of a query.
type sample struct {
	Metric map[string]string
	Value  [2]any
}

// query returns the time series that a query finds now. A query with an error ends the test.
func (p prometheusServer) query(t *testing.T, query string) []sample {
	t.Helper()
	_, body := harness.Get(t, string(p)+"/api/v1/query?query="+url.QueryEscape(query))
	var response struct {
		Status string
		Data   struct{ Result []sample }
	}
	if err := json.Unmarshal([]byte(body), &response); err != nil || response.Status != "success" {
		t.Fatalf("%s: %v %s", query, err, body)
	}
	return response.Data.Result
}

// wantData waits until the query has a result that is a number.
func (p prometheusServer) wantData(t *testing.T, query string) {
	t.Helper()
	testkit.WaitUntil(t, "there are data for "+query, func() bool {
		return slices.ContainsFunc(p.query(t, query), func(s sample) bool { return s.Value[1] != "NaN" })
	})
}
