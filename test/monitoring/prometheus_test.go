package monitoring

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"example.com/petstore/test/harness"
)

// A prometheusServer is the URL of a running Prometheus.
type prometheusServer string

// startPrometheus starts a Prometheus that scrapes the metrics of the admin listener and
// evaluates docs/deploy/alerts.yaml. The process is killed at the end of the test.
func startPrometheus(t *testing.T, admin string) prometheusServer {
	t.Helper()
	rules, err := filepath.Abs("../../docs/deploy/alerts.yaml")
	if err != nil {
		t.Fatal(err)
	}
	dir, address := t.TempDir(), harness.FreeAddress(t)
	text := fmt.Sprintf(`global: {scrape_interval: 500ms, scrape_timeout: 500ms, evaluation_interval: 500ms}
rule_files: [%q]
scrape_configs: [{job_name: petstore, static_configs: [{targets: [%q]}]}]
`, rules, strings.TrimPrefix(admin, "http://"))
	config := filepath.Join(dir, "prometheus.yml")
	if err := os.WriteFile(config, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	cmd := exec.CommandContext(t.Context(), "prometheus",
		"--config.file", config, "--storage.tsdb.path", dir+"/data", "--web.listen-address", address, "--log.level", "warn")
	cmd.Stderr = t.Output()
	if err := cmd.Start(); err != nil {
		t.Fatalf("%v (make deps installs it)", err)
	}
	t.Cleanup(func() { _ = cmd.Process.Kill(); _ = cmd.Wait() })
	p := prometheusServer("http://" + address)
	harness.Eventually(t, "Prometheus is ready", func() bool {
		request, err := http.NewRequestWithContext(t.Context(), http.MethodGet, string(p)+"/-/ready", http.NoBody)
		if err != nil {
			t.Fatal(err)
		}
		status, _, err := harness.Send(harness.Client, request)
		return err == nil && status == http.StatusOK
	})
	return p
}

// api decodes the data of a response of the HTTP API of Prometheus.
func (p prometheusServer) api(t *testing.T, path string, data any) {
	t.Helper()
	_, body := harness.Get(t, string(p)+"/api/v1"+path)
	response := struct {
		Status string
		Data   any
	}{Data: data}
	if err := json.Unmarshal([]byte(body), &response); err != nil || response.Status != "success" {
		t.Fatalf("GET %s: %v %s", path, err, body)
	}
}

// wantData waits until the query has a result that is a number.
func (p prometheusServer) wantData(t *testing.T, query string) {
	t.Helper()
	harness.Eventually(t, "there are data for "+query, func() bool {
		var data struct {
			Result []struct{ Value [2]any }
		}
		p.api(t, "/query?query="+url.QueryEscape(query), &data)
		for _, sample := range data.Result {
			if sample.Value[1] != "NaN" {
				return true
			}
		}
		return false
	})
}

// A rule is an alerting rule and the alerts that it has raised.
type rule struct {
	Name, Query, Health, LastError string
	Alerts                         []struct {
		State  string
		Labels map[string]string
	}
}

// rules returns the alerting rules.
func (p prometheusServer) rules(t *testing.T) (rules []rule) {
	t.Helper()
	var data struct {
		Groups []struct{ Rules []rule }
	}
	p.api(t, "/rules?type=alert", &data)
	for _, group := range data.Groups {
		rules = append(rules, group.Rules...)
	}
	return rules
}
