package main

import (
	"net/http"
	"regexp"
	"testing"
)

// startServerWithAdmin is startServer with an admin listener, whose URL it returns.
func startServerWithAdmin(t *testing.T, args ...string) (s *serverProcess, admin string) {
	t.Helper()
	s = startServer(t, t.TempDir(), append(args, "--set", "admin.address=127.0.0.1:0")...)
	return s, adminURL(t, s)
}

// adminURL returns the URL of the admin listener from the log of a server.
func adminURL(t *testing.T, s *serverProcess) string {
	t.Helper()
	pattern := regexp.MustCompile(`"serving metrics and profiles","address":"([^"]+)"`)
	waitUntil(t, "the log has the address of the admin listener", func() bool { return pattern.MatchString(s.log.String()) })
	return "http://" + pattern.FindStringSubmatch(s.log.String())[1]
}

func TestMetricsAndProfilesAreServedByTheAdminListenerOnly(t *testing.T) {
	t.Parallel()
	s, admin := startServerWithAdmin(t)
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
		if status, body := get(t, url); status != want {
			t.Errorf("%s: got %d, want %d: %.100s", url, status, want, body)
		}
	}
}
