package service

import (
	"encoding/json"
	"net/http"
	"regexp"
	"strings"
	"testing"

	"example.com/petstore/internal/test/testkit"
	"example.com/petstore/test/harness"
)

func TestMetricsAndProfilesAreServedByTheAdminListenerOnly(t *testing.T) {
	t.Parallel()
	s := harness.Start(t, t.TempDir(), "--set", "admin.address=127.0.0.1:0")
	admin := s.AdminURL(t)
	for url, want := range map[string]int{
		admin + "/metrics":                     http.StatusOK,
		admin + "/debug/pprof/":                http.StatusOK,
		admin + "/debug/pprof/heap":            http.StatusOK,
		admin + "/debug/pprof/symbol":          http.StatusOK,
		admin + "/debug/pprof/trace?seconds=0": http.StatusOK,
		admin + "/debug/pprof/cmdline":         http.StatusNotFound,
		admin + "/v1/pets":                     http.StatusNotFound,
		s.URL + "/metrics":                     http.StatusNotFound,
		s.URL + "/debug/pprof/":                http.StatusNotFound,
	} {
		status, body := harness.Get(t, url)
		if status != want || strings.Contains(body, s.Key[9:]) {
			t.Errorf("%s: got %d, want %d and no secret: %.100s", url, status, want, body)
		}
		if isMetrics := url == admin+"/metrics"; isMetrics != strings.Contains(body, "\npetstore_ready 1\n") {
			t.Errorf("%s: got %s", url, body)
		}
	}
}

func TestLogLevelIsChangedWhileTheServiceRuns(t *testing.T) {
	t.Parallel()
	s := harness.Start(t, t.TempDir(), "--set", "admin.address=127.0.0.1:0")
	admin := s.AdminURL(t)
	url := admin + "/log/level"
	documented := regexp.MustCompile(`(?m)^curl .*/log/level.*$`).FindAllString(harness.ReadFile(t, "../../docs/operations.md"), -1)
	output := harness.Shell(t, t.TempDir(), strings.ReplaceAll(strings.Join(documented, "\n"), "http://127.0.0.1:8081", admin))
	if want := `{"level":"info"}` + "\n" + `{"level":"debug"}` + "\n"; output != want {
		t.Errorf("the commands of docs/operations.md print %q, want %q", output, want)
	}
	change := func(method, body string, want int, level string) {
		t.Helper()
		status, text := sendToAdmin(t, method, url, "", body)
		if status != want || method == http.MethodPut && !json.Valid([]byte(text)) {
			t.Errorf("%s %s: got %d %s, want %d", method, body, status, text, want)
		}
		if _, now := harness.Get(t, url); now != `{"level":"`+level+`"}`+"\n" {
			t.Errorf("after %s %s: got %s, want %s", method, body, now, level)
		}
	}
	change(http.MethodPut, `{"level":"warn"}`, http.StatusOK, "warn")
	change(http.MethodPut, "level=error", http.StatusOK, "error")
	s.WantStatus(t, "/v1/pets?limit=1", http.StatusOK)
	for _, other := range []string{
		"level=loud", "level=dpanic", "level=panic", "level=fatal", "level=", "level=-3", "error", `{"level":"dpanic"}`,
		`{"level":1}`, `{}`,
	} {
		change(http.MethodPut, other, http.StatusBadRequest, "error")
	}
	change(http.MethodPost, "level=debug", http.StatusMethodNotAllowed, "error")
	change(http.MethodPut, "level=info", http.StatusOK, "info")
	s.WantStatus(t, "/v1/store/orders", http.StatusOK)
	s.Stop(t)
	if log := s.Log.String(); strings.Contains(log, `"/v1/pets"`) || !strings.Contains(log, `"/v1/store/orders"`) {
		t.Errorf("got the log %s, want the request at the level info only", log)
	}
}

// If the host name of a web page resolved to the listener (DNS rebinding), the page could read the responses. Its
// requests have this host name as Host, never an IP address or localhost.
func TestAdminListenerRejectsOtherHosts(t *testing.T) {
	t.Parallel()
	for address, hosts := range map[string]map[string]int{
		"127.0.0.1:0": {
			"": 200, "127.0.0.1": 200, "127.0.0.1:1": 200, "10.1.2.3:8081": 200, "[::1]:8081": 200, "[::1]": 200, "[fe80::1%25eth0]:8081": 200,
			"localhost": 200, "LocalHost:8081": 200,
			"rebind.example": 421, "rebind.example:8081": 421, "localhost.example": 421, "127.0.0.1.example": 421, "0x7f000001": 421, ":8081": 421,
		},
		"localhost:0": {"localhost": 200, "127.0.0.1": 200, "rebind.example": 421},
		":0":          {"127.0.0.1": 200, "localhost": 200, "petstore:8081": 200, "petstore.shop.svc.cluster.local": 200},
		"0.0.0.0:0":   {"petstore:8081": 200},
	} {
		admin := harness.Start(t, t.TempDir(), "--set", "admin.address="+address).AdminURL(t)
		for host, want := range hosts {
			for path, method := range map[string]string{"/metrics": http.MethodGet, "/debug/pprof/": http.MethodGet, "/log/level": http.MethodPut} {
				status, body := sendToAdmin(t, method, admin+path, host, "level=info")
				if status != want || (want == http.StatusMisdirectedRequest) != strings.Contains(body, "set admin.address to the name") {
					t.Errorf("%s, Host %q: %s %s: got %d %.200s, want %d", address, host, method, path, status, body, want)
				}
			}
		}
	}
}

// sendToAdmin sends a request with a Host header, or with the host of the URL if host is empty. A body
// that begins with { is sent as JSON, any other body as a form, as curl -d sends it.
func sendToAdmin(t *testing.T, method, url, host, body string) (status int, text string) {
	t.Helper()
	request, err := http.NewRequestWithContext(t.Context(), method, url, strings.NewReader(body))
	testkit.Check(t, err)
	request.Host = host
	request.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	if strings.HasPrefix(body, "{") {
		request.Header.Set("Content-Type", "application/json")
	}
	status, text, err = harness.Send(harness.Client, request)
	testkit.Check(t, err)
	return status, text
}
