package service

import (
	"net/http"
	"regexp"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"example.com/petstore/test/harness"
)

// A rotated key is replaced already, and a key that is not valid cannot expire.
func TestMetricsHaveTheTimesWhenValidKeysExpire(t *testing.T) {
	t.Parallel()
	dir := harness.NewStore(t)
	for _, lifetime := range []string{"90d", "30d", "36h", "1s"} { // the keys 1 to 4
		harness.PrintedKey(t, dir, "create", "--name", "till", "--expires", lifetime)
	}
	harness.PrintedKey(t, dir, "create", "--name", "unlimited")
	harness.PrintedKey(t, dir, "rotate", "1", "--overlap", "24h") // its successor is the key 6
	harness.RunOK(t, dir, "keys", "revoke", "2")
	admin := harness.Start(t, dir, "--set", "admin.address=127.0.0.1:0").AdminURL(t)
	got := map[string]time.Duration{} // until then
	harness.Eventually(t, "the key 4 has expired", func() bool {
		clear(got)
		_, metrics := harness.Get(t, admin+"/metrics")
		for _, sample := range regexp.MustCompile(`petstore_key_expiration_timestamp_seconds{key_id="(\d+)"} (\S+)`).FindAllStringSubmatch(metrics, -1) {
			seconds, err := strconv.ParseFloat(sample[2], 64)
			harness.Check(t, err)
			got[sample[1]] = time.Until(time.UnixMilli(int64(seconds * 1000))).Round(time.Hour)
		}
		return len(got) < 3
	})
	if diff := cmp.Diff(map[string]time.Duration{"3": 36 * time.Hour, "6": 90 * 24 * time.Hour}, got); diff != "" {
		t.Errorf("times by key id (-want +got):\n%s", diff)
	}
}

func TestFullDiskIsCountedWhileReadsAreServed(t *testing.T) {
	t.Parallel()
	cmd := harness.CommandAfter(t.Context(), t.TempDir(), `mount -t tmpfs -o size=512k none . && cd "$PWD"`,
		"serve", "--first-key", "--set", "admin.address=127.0.0.1:0")
	s := harness.StartCommand(t, harness.AllowMounts(t, cmd))
	admin := s.AdminURL(t)
	created := http.StatusCreated
	for posted := 0; created == http.StatusCreated && posted < 10_000; posted++ {
		var err error
		created, _, err = s.Post(t.Context(), harness.PetBody(strings.Repeat("x", 200)))
		harness.Check(t, err)
	}
	for _, path := range []string{"/readyz", "/v1/pets"} {
		s.WantStatus(t, path, http.StatusOK)
	}
	if _, metrics := harness.Get(t, admin+"/metrics"); created != http.StatusServiceUnavailable || !regexp.MustCompile(`\npetstore_store_errors_total{kind="full"} [1-9]`).MatchString(metrics) {
		t.Errorf("got the status %d and the metrics %s, want 503 and an error that is counted", created, metrics)
	}
}
