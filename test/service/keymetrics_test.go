package service

import (
	"encoding/json"
	"regexp"
	"slices"
	"strconv"
	"testing"
	"time"

	"example.com/petstore/test/harness"

	"github.com/google/go-cmp/cmp"
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
	if err := json.Unmarshal([]byte(harness.RunOK(t, dir, "keys", "list", "--output", "json")), &keys); err != nil {
		t.Fatal(err)
	}
	i := slices.IndexFunc(keys, func(k key) bool { return k.ID == id })
	return float64(keys[i].ExpiresAt.UnixMilli()) / 1000
}
