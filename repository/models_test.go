package repository

import "testing"

func TestHashesOfAnotherLengthAreRejected(t *testing.T) {
	t.Parallel()
	for length, valid := range map[int]bool{0: false, 31: false, 32: true} {
		if _, err := (&keyModel{Hash: make([]byte, length)}).record(); (err == nil) != valid {
			t.Errorf("a hash of %d bytes: got %v, want an error: %t", length, err, !valid)
		}
		if _, err := (&claimModel{Fingerprint: make([]byte, length)}).outcome(); (err == nil) != valid {
			t.Errorf("a fingerprint of %d bytes: got %v, want an error: %t", length, err, !valid)
		}
	}
}
