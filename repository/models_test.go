package repository

import (
	"database/sql"
	"testing"
)

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

func TestDamagedRowsAreRejected(t *testing.T) {
	t.Parallel()
	_, name := (&petModel{Name: "Re\x00"}).record()
	_, pet := (&petModel{Name: "Rex", Status: sql.NullString{String: "sol\x00", Valid: true}}).record()
	_, order := (&orderModel{Status: "\x00"}).record()
	_, change := (&changeModel{Type: "pet.\x00"}).record()
	_, changeOfPet := (&changeModel{Type: "pet.added", Name: sql.NullString{String: "\x00", Valid: true}}).record()
	for i, err := range []error{name, pet, order, change, changeOfPet} {
		if err == nil {
			t.Errorf("row %d: got no error", i)
		}
	}
}
