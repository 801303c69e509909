package service

import (
	"fmt"
	"net/http"
	"strings"
	"testing"

	"example.com/petstore/test/harness"
)

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
