package testkit

import (
	"reflect"
	"slices"
	"testing"
	"time"
)

// Filled returns a T in which no exported field is zero. So a test also covers fields that are added to T later. If one
// of values has the type of a field, the field gets that value.
func Filled[T any](t testing.TB, values ...any) (filled T) {
	t.Helper()
	fill(t, reflect.ValueOf(&filled).Elem(), "T", 0, values)
	return filled
}

func fill(t testing.TB, v reflect.Value, name string, index int, values []any) {
	t.Helper()
	given := slices.IndexFunc(values, func(value any) bool { return reflect.TypeOf(value) == v.Type() })
	switch kind := v.Kind(); {
	case given >= 0:
		v.Set(reflect.ValueOf(values[given]))
	case v.Type() == reflect.TypeFor[time.Time]():
		v.Set(reflect.ValueOf(time.UnixMilli(1_795_000_000_000 + int64(index)).UTC()))
	case kind == reflect.Struct:
		for i := range v.NumField() {
			if field := v.Type().Field(i); field.IsExported() {
				fill(t, v.Field(i), field.Name, i, values)
			}
		}
	case kind == reflect.Pointer:
		v.Set(reflect.New(v.Type().Elem()))
		fill(t, v.Elem(), name, index, values)
	case kind == reflect.Array, kind == reflect.Slice:
		if kind == reflect.Slice {
			v.Set(reflect.MakeSlice(v.Type(), 32, 32)) // 32 bytes, because a hash has so many
		}
		for i := range v.Len() {
			fill(t, v.Index(i), name, i, values)
		}
	case v.CanInt():
		v.SetInt(int64(index + 1))
	case v.CanUint():
		v.SetUint(uint64(index + 1)) //nolint:gosec // a small number
	case kind == reflect.Bool:
		v.SetBool(true)
	case kind == reflect.String:
		v.SetString(name)
	default:
		t.Fatalf("cannot fill the field %s of the type %v", name, v.Type())
	}
}

// WantFilled expects that no exported field of a struct is zero, unless its name is in but. If a field is zero, the
// tested conversion has forgotten it.
func WantFilled(t testing.TB, record any, but ...string) {
	t.Helper()
	v := reflect.ValueOf(record)
	for i := range v.NumField() {
		if field := v.Type().Field(i); field.IsExported() && v.Field(i).IsZero() && !slices.Contains(but, field.Name) {
			t.Errorf("the field %s of %T is empty", field.Name, record)
		}
	}
}
