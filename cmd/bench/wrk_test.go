package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

func TestParseWrk(t *testing.T) {
	t.Parallel()
	for file, want := range map[string]sample{
		"wrk-fast.txt": {requests: 64_166, rate: 64_101.33, p99: 870 * time.Microsecond},
		"wrk-slow.txt": {requests: 956, rate: 948.27, p99: 1020 * time.Millisecond},
	} {
		got, err := parseWrk(golden(t, file))
		if err != nil || got != want {
			t.Errorf("%s: got %+v, %v, want %+v", file, got, err, want)
		}
	}
}

func TestParseWrkRejectsFailedRuns(t *testing.T) {
	t.Parallel()
	good := golden(t, "wrk-fast.txt")
	for name, test := range map[string]struct{ output, want string }{
		"failures":    {golden(t, "wrk-failures.txt"), "wrk: Non-2xx or 3xx responses: 12"},
		"timeouts":    {golden(t, "wrk-timeouts.txt"), "wrk: Socket errors: connect 0, read 0, write 0, timeout 64"},
		"no server":   {"unable to connect to 127.0.0.1:1 Connection refused\n", "unexpected output of wrk"},
		"nothing":     {"", "unexpected output of wrk"},
		"no response": {strings.Replace(good, "64166 requests", "0 requests", 1), "wrk received no response"},
		"no latency":  {strings.Replace(good, "99%", "98%", 1), "unexpected output of wrk"},
	} {
		if _, err := parseWrk(test.output); err == nil || !strings.HasPrefix(err.Error(), test.want) {
			t.Errorf("%s: got the error %v, want %q", name, err, test.want)
		}
	}
}

// golden returns the content of a file, in testdata unless its name is absolute.
func golden(t *testing.T, name string) string {
	t.Helper()
	if !filepath.IsAbs(name) {
		name = filepath.Join("testdata", name)
	}
	text, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

func wantGolden(t *testing.T, name, got string) {
	t.Helper()
	if *update {
		if err := os.WriteFile(filepath.Join("testdata", name), []byte(got), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	if diff := cmp.Diff(golden(t, name), got); diff != "" {
		t.Errorf("%s (-want +got); go test -update rewrites it\n%s", name, diff)
	}
}
