package repository

import (
	"reflect"
	"testing"
)

// A column that fields misses would be read into the field of another one.
func TestFieldsOfAModelAreAllOfIt(t *testing.T) {
	t.Parallel()
	for _, model := range []interface{ fields() []any }{&petModel{}, &orderModel{}} {
		fields, value := model.fields(), reflect.ValueOf(model).Elem()
		if len(fields) != value.NumField() {
			t.Fatalf("%T: got %d fields, want %d", model, len(fields), value.NumField())
		}
		for i, field := range fields {
			if field != value.Field(i).Addr().Interface() {
				t.Errorf("%T: the field %d is not %s", model, i, value.Type().Field(i).Name)
			}
		}
	}
}

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
