package service

import (
	"net/http"
	"strings"
	"testing"

	"example.com/petstore/test/harness"
)

func TestMetricsCountRequests(t *testing.T) {
	t.Parallel()
	s, admin := harness.StartWithAdmin(t, "--set", "rate_limit.requests=12", "--set", "rate_limit.window=24h")
	for range 3 {
		if status, body, err := s.Post(t.Context(), harness.PetBody("Rex")); err != nil || status != http.StatusCreated {
			t.Fatal(status, body, err)
		}
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
