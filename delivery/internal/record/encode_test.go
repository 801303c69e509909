package record

import (
	"math"
	"reflect"
	"testing"

	"github.com/go-json-experiment/json"

	"example.com/petstore/domain"
)

func TestAppendJSONMatchesMarshal(t *testing.T) {
	t.Parallel()
	var samples []Record
	names := []string{"Rex", "", `"quoted" \\`, "<b>&amp;</b>", "\u2028\u2029", "日本語 🐕", "tab\tnew\nline\x00\x1f\x7f"}
	for _, number := range []int64{0, 1, -1, 42, math.MaxInt64, math.MinInt64} {
		for _, name := range names {
			for _, status := range []domain.PetStatus{"", domain.PetAvailable, domain.PetPending, domain.PetSold} {
				samples = append(samples, Pet{ID: number, Name: name, CategoryID: -number, Status: status})
			}
		}
		for _, status := range []domain.OrderStatus{domain.OrderPlaced, domain.OrderDelivered, domain.OrderCancelled} {
			samples = append(samples, Order{
				ID: number, PetID: -number, Status: status,
				CreatedAt: "2026-11-20T10:06:30.000Z", UpdatedAt: "2026-11-20T10:06:30.001Z",
			})
		}
	}
	set := map[string]bool{} // the fields that are not zero in a sample
	for _, sample := range samples {
		want, err := json.Marshal(sample)
		if err != nil {
			t.Fatal(err)
		}
		if got, err := sample.AppendJSON(nil); err != nil || string(got) != string(want) {
			t.Errorf("got %s and error %v, want %s", got, err, want)
		}
		value := reflect.ValueOf(sample)
		for i := range value.NumField() {
			name := value.Type().Name() + "." + value.Type().Field(i).Name
			set[name] = set[name] || !value.Field(i).IsZero()
		}
	}
	for name, isSet := range set {
		if !isSet {
			t.Errorf("no sample has %s", name)
		}
	}
}

func TestInvalidUTF8IsNotEncoded(t *testing.T) {
	t.Parallel()
	invalid := Pet{Name: "R\xffx"}
	if got, err := invalid.AppendJSON(nil); err == nil {
		t.Errorf("got %s, want an error", got)
	}
	if got, err := EncodeAll([]Pet{{Name: "Rex"}, invalid}, func(p Pet) Pet { return p }); err == nil {
		t.Errorf("got %s, want an error", got)
	}
}
