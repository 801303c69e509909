package service

import (
	"encoding/json"
	"fmt"
	"net/http"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"example.com/petstore/test/harness"
)

func TestMetricsCountRequests(t *testing.T) {
	t.Parallel()
	s, admin := harness.StartWithAdmin(t, "--set", "rate_limit.requests=12", "--set", "rate_limit.window=24h")
	for range 3 {
		s.AddPet(t, "Rex")
	}
	for path, times := range map[string]int{"/v1/pets": 5, "/v1/pets/1": 4, "/nowhere": 2} {
		for range times {
			if _, _, err := s.Do(t.Context(), http.MethodGet, path, ""); err != nil {
				t.Fatal(err)
			}
		}
	}
	s.WantStatus(t, "/v1/store/orders", http.StatusTooManyRequests) // the 13th request of the API
	status, metrics := harness.Get(t, admin+"/metrics")
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
		`petstore_store_commit_batch_size_sum `, `petstore_store_commit_duration_seconds_count `,
		`petstore_store_waiting_transactions 0`,
		`petstore_store_errors_total{kind="full"} 0`, `petstore_store_errors_total{kind="other"} 0`,
		`go_sql_max_open_connections{db_name="writer"} 1`,
		`go_sql_max_open_connections{db_name="readers"} 4`,
		`go_goroutines `, `process_cpu_seconds_total `, `go_build_info{`,
	} {
		if !strings.Contains(metrics, "\n"+line) {
			t.Errorf("the metrics do not contain %s", line)
		}
	}
	if strings.Contains(metrics, s.Key[9:]) {
		t.Error("the metrics contain the API key")
	}
}

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
	want := map[string]float64{"3": expiration(t, dir, 3), "6": expiration(t, dir, 6)}

	admin := harness.Start(t, dir, "--set", "admin.address=127.0.0.1:0").AdminURL(t)
	got := map[string]float64{}
	harness.Eventually(t, "the key 4 has expired", func() bool {
		clear(got)
		_, metrics := harness.Get(t, admin+"/metrics")
		for _, sample := range regexp.MustCompile(`petstore_key_expiration_timestamp_seconds{key_id="(\d+)"} (\S+)`).FindAllStringSubmatch(metrics, -1) {
			got[sample[1]], _ = strconv.ParseFloat(sample[2], 64)
		}
		return got["4"] == 0
	})
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("times by key id (-want +got):\n%s", diff)
	}
}

// expiration returns the time in petstore keys list, in seconds since 1970.
func expiration(t *testing.T, dir string, id int64) float64 {
	t.Helper()
	type key struct {
		ID        int64
		ExpiresAt time.Time
	}
	var keys []key
	harness.Check(t, json.Unmarshal([]byte(harness.RunOK(t, dir, "keys", "list", "--output", "json")), &keys))
	i := slices.IndexFunc(keys, func(k key) bool { return k.ID == id })
	return float64(keys[i].ExpiresAt.UnixMilli()) / 1000
}

func TestFullDiskIsCountedWhileReadsAreServed(t *testing.T) {
	t.Parallel()
	cmd := harness.CommandAfter(t.Context(), t.TempDir(), `mount -t tmpfs -o size=512k none . && cd "$PWD"`,
		"serve", "--first-key", "--set", "admin.address=127.0.0.1:0")
	s := harness.StartCommand(t, harness.AllowMounts(t, cmd))
	admin := s.AdminURL(t)
	name, failed := strings.Repeat("x", 200), 0
	for posted := 0; failed < 3 && posted < 10_000; posted++ {
		status, body, err := s.Post(t.Context(), harness.PetBody(name))
		switch {
		case err != nil || status != http.StatusCreated && status != http.StatusServiceUnavailable:
			t.Fatal(status, body, err)
		case status == http.StatusServiceUnavailable:
			failed++
		}
	}
	for _, path := range []string{"/readyz", "/v1/pets"} {
		s.WantStatus(t, path, http.StatusOK)
	}
	_, metrics := harness.Get(t, admin+"/metrics")
	_, count, _ := strings.Cut(metrics, "\n"+`petstore_store_errors_total{kind="full"} `)
	var counted int
	if _, err := fmt.Sscan(count, &counted); err != nil || counted < failed || failed == 0 { // writing the last use of the key may fail, too
		t.Errorf("%d requests failed: got the count %d, %v", failed, counted, err)
	}
}
