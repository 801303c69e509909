package faults

import (
	"hash/crc32"
	"math/big"
	"net/http"
	"strings"
	"testing"
	"time"

	"example.com/petstore/domain/apikey"
)

// TestTimesOfResponsesRevealNoKey measures how long keys take to be rejected. A key is hashed
// before it is looked up, so a key that is nearly right takes as long as any other.
func TestTimesOfResponsesRevealNoKey(t *testing.T) {
	s := start(t, t.TempDir(), "")
	if _, ok := apikey.HashOf(nearlyRight(s.Key)); !ok {
		t.Fatal("the key that is nearly right is malformed")
	}
	reject := func(key string) time.Duration {
		begun := time.Now()
		status, body, err := s.Do(t.Context(), http.MethodGet, "/v1/store/orders/1", "", "Authorization", "Bearer "+key)
		if err != nil || status != http.StatusUnauthorized {
			t.Fatal(status, body, err)
		}
		return time.Since(begun)
	}
	unknown := make([]time.Duration, pick(500, 20_000))
	differences := make([]time.Duration, len(unknown)) // of requests one after the other: what else the machine does affects both
	for i := range unknown {
		unknown[i] = reject(apikey.Generate())
		differences[i] = reject(nearlyRight(s.Key)) - unknown[i]
	}
	difference, all := median(differences), median(unknown)
	if difference.Abs() > all/5 {
		t.Errorf("a key that is nearly right takes %v longer than any other, which takes %v", difference, all)
	}
	t.Logf("%d tries; a key that is nearly right takes %v longer than another, which takes %v", len(unknown), difference, all)
}

// nearlyRight returns a well-formed key that differs from another in its last random character.
func nearlyRight(key string) string {
	random := []byte(key[len("petstore_") : len(key)-6])
	last := &random[len(random)-1]
	*last = map[bool]byte{true: 'b', false: 'a'}[*last == 'a']
	sum := big.NewInt(int64(crc32.ChecksumIEEE(random))).Text(62)
	return "petstore_" + string(random) + strings.Repeat("0", 6-len(sum)) + sum
}
