package repository

import (
	"database/sql"
	"fmt"
	"reflect"
	"testing"

	"example.com/petstore/domain"
	"example.com/petstore/domain/apikey"
	"example.com/petstore/domain/port"
	"example.com/petstore/internal/test/testkit"
)

func TestModelsHaveEveryField(t *testing.T) {
	t.Parallel()
	pet, order := testkit.Filled[petModel](t, sql.NullString{String: "sold", Valid: true}), testkit.Filled[orderModel](t, "placed")
	key, claim := testkit.Filled[keyModel](t), testkit.Filled[claimModel](t)
	orderChange := testkit.Filled[changeModel](t, "order.placed", sql.NullString{String: "placed", Valid: true})
	petChange := testkit.Filled[changeModel](t, "pet.added", sql.NullString{String: "sold", Valid: true})
	petChange.PetID = sql.NullInt64{}
	wantRecord(t, &pet)
	wantRecord(t, &order)
	testkit.WantFilled(t, *wantRecord(t, &orderChange, "Pet").Order)
	testkit.WantFilled(t, *wantRecord(t, &petChange, "Order").Pet)
	keyRecord, err := key.record()
	testkit.Check(t, err)
	testkit.WantFilled(t, keyRecord)
	outcome, err := claim.outcome()
	testkit.Check(t, err)
	testkit.WantFilled(t, outcome)
	testkit.WantFilled(t, newPetRow(testkit.Filled[domain.NewPet](t)), "ID")
	testkit.WantFilled(t, newKeyModel(testkit.Filled[apikey.NewKey](t)), "ID", "RevokedAt", "LastUsedAt")
	testkit.WantFilled(t, newClaimRow(testkit.Filled[port.Claim](t)), "Result", "ClaimedAt")
}

// wantRecord expects that all fields of a row are read, and that no field of its record is zero, unless its
// name is in but.
func wantRecord[T any](t *testing.T, r row[T], but ...string) T {
	t.Helper()
	testkit.Equal(t, fmt.Sprintf("the number of fields of %T", r), reflect.TypeOf(r).Elem().NumField(), len(r.fields()))
	record, err := r.record()
	testkit.Check(t, err)
	testkit.WantFilled(t, record, but...)
	return record
}

func TestHashesOfAnotherLengthAreRejected(t *testing.T) {
	t.Parallel()
	for length, valid := range map[int]bool{0: false, 31: false, 32: true, 33: false} {
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
