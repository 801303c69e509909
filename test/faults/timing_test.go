package faults

import (
	"fmt"
	"hash/crc32"
	"math/big"
	"net/http"
	"strings"
	"testing"
	"time"

	"example.com/petstore/domain/apikey"
	"example.com/petstore/test/harness"
)

// TestTimesOfResponsesRevealNoKey measures how long keys take to be rejected. A key is hashed
// before it is looked up, so a key that is nearly right takes as long as any other.
func TestTimesOfResponsesRevealNoKey(t *testing.T) {
	folder := t.TempDir()
	s := start(t, folder, "")
	revoked := createKey(t, folder)
	harness.RunOK(t, folder, "keys", "revoke", "2")
	time.Sleep(time.Second) // until the server has noticed it
	names := []string{"malformed", "unknown", "nearly right", "revoked", "valid"}
	keys := map[string]func() string{
		"malformed":    func() string { return s.Key[:len(s.Key)-1] + "!" },
		"unknown":      apikey.Generate,
		"nearly right": func() string { return nearlyRight(s.Key) },
		"revoked":      func() string { return revoked },
		"valid":        func() string { return s.Key },
	}
	if _, ok := apikey.HashOf(nearlyRight(s.Key)); !ok {
		t.Fatal("the key that is nearly right is malformed")
	}
	client := &http.Client{Transport: &http.Transport{}}
	defer client.CloseIdleConnections()
	took := map[string][]time.Duration{}
	tries := pick(500, 20_000)
	for range tries {
		for _, name := range names {
			request, err := http.NewRequest(http.MethodGet, s.URL+"/v1/store/orders/1", nil)
			harness.Check(t, err)
			request.Header.Set("Authorization", "Bearer "+keys[name]())
			begun := time.Now()
			response, err := client.Do(request)
			harness.Check(t, err)
			took[name] = append(took[name], time.Since(begun))
			response.Body.Close()
			if rejected := response.StatusCode == http.StatusUnauthorized; rejected == (name == "valid") {
				t.Fatalf("a key that is %s: got %d", name, response.StatusCode)
			}
		}
	}
	var parts []string
	for _, name := range names {
		parts = append(parts, fmt.Sprintf("%s %v", name, median(took[name]).Round(time.Microsecond)))
	}
	differences := make([]time.Duration, tries) // of requests one after the other: what else the machine does affects both
	for i := range differences {
		differences[i] = took["nearly right"][i] - took["unknown"][i]
	}
	if difference, unknown := median(differences), median(took["unknown"]); difference.Abs() > unknown/5 {
		t.Errorf("a key that is nearly right takes %v longer than any other, which takes %v", difference, unknown)
	}
	figures.add(t, "%d tries; median of %s", len(names)*tries, strings.Join(parts, ", "))
}

// nearlyRight returns a well-formed key that differs from another in its last random character.
func nearlyRight(key string) string {
	random := []byte(key[len("petstore_") : len(key)-6])
	last := &random[len(random)-1]
	*last = map[bool]byte{true: 'b', false: 'a'}[*last == 'a']
	sum := big.NewInt(int64(crc32.ChecksumIEEE(random))).Text(62)
	return "petstore_" + string(random) + strings.Repeat("0", 6-len(sum)) + sum
}
