package main

import (
	"encoding/json"
	"fmt"
	"net/http"
	"os"
	"regexp"
	"strings"
	"testing"
)

// startWithAdmin serves with the listener for operators, and tells where that is.
func startWithAdmin(t *testing.T, args ...string) (s *process, admin string) {
	t.Helper()
	s = start(t, t.TempDir(), append(args, "--set", "admin.address=127.0.0.1:0")...)
	return s, adminOf(t, s)
}

// adminOf returns the address of a server's listener for operators.
func adminOf(t *testing.T, s *process) string {
	t.Helper()
	form := regexp.MustCompile(`"serving metrics and profiles","address":"([^"]+)"`)
	until(t, "the log tells the address", func() bool { return form.MatchString(s.log.String()) })
	return "http://" + form.FindStringSubmatch(s.log.String())[1]
}

// fetch is a GET without a key.
func fetch(t *testing.T, url string) (status int, answer string) {
	t.Helper()
	request, err := http.NewRequestWithContext(t.Context(), http.MethodGet, url, http.NoBody)
	if err != nil {
		t.Fatal(err)
	}
	status, answer, err = finish(http.DefaultClient, request)
	if err != nil {
		t.Fatal(err)
	}
	return status, answer
}

func TestMetricsTellKnownTraffic(t *testing.T) {
	t.Parallel()
	s, admin := startWithAdmin(t, "--set", "rate_limit.requests=12", "--set", "rate_limit.window=24h")
	for range 3 {
		if status, answer, err := s.post(t.Context(), petBody("Rex")); err != nil || status != http.StatusCreated {
			t.Fatal(status, answer, err)
		}
	}
	for path, times := range map[string]int{"/v1/pets": 5, "/v1/pets/1": 4, "/nowhere": 2} {
		for range times {
			if _, _, err := s.do(t.Context(), http.MethodGet, path, ""); err != nil {
				t.Fatal(err)
			}
		}
	}
	if status, answer, err := s.do(t.Context(), http.MethodGet, "/v1/store/orders", ""); err != nil || status != http.StatusTooManyRequests {
		t.Errorf("the 13th request: %d %s %v", status, answer, err)
	}
	status, metrics := fetch(t, admin+"/metrics")
	if status != http.StatusOK {
		t.Fatal(status, metrics)
	}
	for _, line := range []string{
		`petstore_http_request_duration_seconds_count{method="POST",route="/v1/pets",status="201"} 3`,
		`petstore_http_request_duration_seconds_count{method="GET",route="/v1/pets",status="200"} 5`,
		`petstore_http_request_duration_seconds_count{method="GET",route="/v1/pets/:petId",status="200"} 4`,
		`petstore_http_request_duration_seconds_count{method="GET",route="unmatched",status="404"} 2`,
		`petstore_http_requests_in_flight 0`,
		`petstore_http_deprecated_requests_total{key_id="1"} 4`,
		`petstore_http_rate_limited_requests_total{key_id="1"} 1`,
		`petstore_http_page_cache_requests_total{result="hit"} 4`,
		`petstore_http_page_cache_requests_total{result="miss"} 1`,
		`petstore_store_commit_acts_sum `, `petstore_store_commit_duration_seconds_count `,
		`petstore_store_errors_total{kind="full"} 0`, `petstore_store_errors_total{kind="other"} 0`,
		`go_sql_max_open_connections{db_name="writer"} 1`,
		`go_sql_max_open_connections{db_name="readers"} 4`,
		`go_goroutines `, `process_cpu_seconds_total `, `go_build_info{`,
	} {
		if !strings.Contains(metrics, "\n"+line) {
			t.Errorf("the metrics lack %s", line)
		}
	}
	if strings.Contains(metrics, s.key[9:]) {
		t.Error("the metrics tell the key")
	}
}

func TestAdminListenerServesOperatorsAlone(t *testing.T) {
	t.Parallel()
	s, admin := startWithAdmin(t)
	for url, want := range map[string]int{
		admin + "/metrics":                      http.StatusOK,
		admin + "/debug/pprof/":                 http.StatusOK,
		admin + "/debug/pprof/heap":             http.StatusOK,
		admin + "/debug/pprof/trace?seconds=0":  http.StatusOK,
		admin + "/debug/pprof/cmdline":          http.StatusNotFound,
		admin + "/v1/pets":                      http.StatusNotFound,
		admin + "/livez":                        http.StatusNotFound,
		s.url + "/metrics":                      http.StatusNotFound,
		s.url + "/debug/pprof/":                 http.StatusNotFound,
		s.url + "/debug/pprof/heap":             http.StatusNotFound,
		admin + "/debug/pprof/symbol":           http.StatusOK,
		admin + "/debug/pprof/goroutine":        http.StatusOK,
		admin + "/debug/pprof/does-not-exist-1": http.StatusNotFound,
	} {
		if status, answer := fetch(t, url); status != want {
			t.Errorf("%s: got %d, want %d: %.100s", url, status, want, answer)
		}
	}
}

func TestConfigPrintsSettingsAndSources(t *testing.T) {
	t.Parallel()
	folder := t.TempDir()
	stdout, stderr, code := output(t, folder, "config", "--set", "database.dsn=secret.db", "--set", "log.level=warn")
	for _, line := range []string{
		`SETTING +VALUE +SOURCE`,
		`server\.address +127\.0\.0\.1:0 +PETSTORE_SERVER_ADDRESS`,
		`server\.request_timeout +10s +default`,
		`database\.dsn +\(hidden\) +command line`,
		`log\.level +warn +command line`,
		`admin\.address +"" +PETSTORE_ADMIN_ADDRESS`,
	} {
		if !regexp.MustCompile(`(?m)^` + line + `$`).MatchString(stdout) {
			t.Errorf("%s is missing", line)
		}
	}
	if code != 0 || stderr != "" || strings.Contains(stdout, "secret") {
		t.Errorf("code %d, stdout %s, stderr %q", code, stdout, stderr)
	}
}

func TestConfigPrintsSettingsWithProblems(t *testing.T) {
	t.Parallel()
	key := "petstore_" + strings.Repeat("x", 48)
	stdout, stderr, code := output(t, t.TempDir(), "config", "--set", "log.level=loud", "--set", "auth.bootstrap_key="+key, "--set", "no.such=1")
	want := "petstore: the configuration is not valid:\n" +
		"  auth.bootstrap_key = (hidden) (command line): must be an API key as petstore keys create prints it: petstore_ and 49 letters and digits\n" +
		"  log.level = \"loud\" (command line): must be debug or info or warn or error\n" +
		"  no.such (command line): no such section; "
	if code != 2 || !strings.HasPrefix(stderr, want) || !strings.Contains(stdout, "(invalid)") || strings.Contains(stdout+stderr, key) {
		t.Errorf("code %d, stdout %s, stderr %s, want 2 and %s", code, stdout, stderr, want)
	}
}

func TestLogTellsNoKey(t *testing.T) {
	t.Parallel()
	s := start(t, t.TempDir(), "--set", "log.level=debug")
	for _, path := range []string{"/v1/pets?access_token=" + s.key, "/v1/pets/" + s.key, "/" + s.key, "/readyz?" + s.key} {
		if _, _, err := s.do(t.Context(), http.MethodGet, path, "", "User-Agent", s.key, "Referer", s.key); err != nil {
			t.Fatal(err)
		}
	}
	stop(t, s)
	log := s.log.String()
	if got := strings.Count(log, `"msg":"request"`); got != 4 || strings.Contains(log, s.key[9:]) || !strings.HasSuffix(log, "\"msg\":\"stopped\"}\n") {
		t.Errorf("the log has %d requests, the key, or no end:\n%s", got, fmt.Sprint(log))
	}
}

// TestDashboardAsksForMetricsThatExist reads the names in every query of the
// Grafana dashboard and looks for them in what the service measures.
func TestDashboardAsksForMetricsThatExist(t *testing.T) {
	t.Parallel()
	text, err := os.ReadFile("../../docs/grafana.json")
	if err != nil {
		t.Fatal(err)
	}
	var dashboard struct {
		Panels []struct{ Targets []struct{ Expr string } }
	}
	if err := json.Unmarshal(text, &dashboard); err != nil {
		t.Fatal(err)
	}
	s, admin := startWithAdmin(t, "--set", "rate_limit.requests=1")
	for range 2 { // the second is limited, and one is of a deprecated operation
		if _, _, err := s.do(t.Context(), http.MethodGet, "/v1/pets/1", ""); err != nil {
			t.Fatal(err)
		}
	}
	_, metrics := fetch(t, admin+"/metrics")
	name := regexp.MustCompile(`([a-z_]+)\{job=`)
	queries := 0
	for _, panel := range dashboard.Panels {
		for _, target := range panel.Targets {
			queries++
			names := name.FindAllStringSubmatch(target.Expr, -1)
			if len(names) == 0 {
				t.Errorf("%s asks for no metric", target.Expr)
			}
			for _, found := range names {
				if !strings.Contains(metrics, "\n"+found[1]+"{") && !strings.Contains(metrics, "\n"+found[1]+" ") {
					t.Errorf("%s asks for %s, which does not exist", target.Expr, found[1])
				}
			}
		}
	}
	if queries < 10 {
		t.Errorf("found only %d queries", queries)
	}
}
