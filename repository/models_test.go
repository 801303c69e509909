package repository

import (
	"fmt"
	"reflect"
	"testing"

	"example.com/petstore/domain"
	"example.com/petstore/domain/apikey"
	"example.com/petstore/internal/test/testkit"
)

func TestModelsHaveEveryField(t *testing.T) {
	t.Parallel()
	pet, order := testkit.Filled[petModel](t, "sold"), testkit.Filled[orderModel](t, "placed")
	key, claim, category := testkit.Filled[keyModel](t), testkit.Filled[claimModel](t), testkit.Filled[categoryModel](t)
	change := changeModel{Seq: 1, Type: "pet.added", At: 1, Caller: "key:1", Records: `{"pet":{"id":1,"name":"Rex","categoryId":1}}`}
	wantRecord(t, &pet)
	wantRecord(t, &order)
	wantRecord(t, &change)
	wantRecord(t, &category, "Position")
	keyRecord, err := key.record()
	testkit.Check(t, err)
	testkit.WantFilled(t, keyRecord)
	outcome, err := claim.outcome()
	testkit.Check(t, err)
	testkit.WantFilled(t, outcome)
	testkit.WantFilled(t, newOrderModel(testkit.Filled[domain.Order](t)))
	testkit.WantFilled(t, newKeyModel(testkit.Filled[apikey.NewKey](t)), "ID", "RevokedAt", "LastUsedAt")
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
	_, pet := (&petModel{Name: "Rex", Status: "sol\x00"}).record()
	_, category := (&categoryModel{Name: "Dog\x00"}).record()
	_, order := (&orderModel{Status: "\x00"}).record()
	_, change := (&changeModel{Type: "pet.\x00", Records: "{}"}).record()
	_, records := (&changeModel{Type: "pet.added", Records: "{\x00"}).record()
	for i, err := range []error{name, pet, category, order, change, records} {
		if err == nil {
			t.Errorf("row %d: got no error", i)
		}
	}
}
