package record

import (
	stdjson "encoding/json"
	"math"
	"testing"

	"github.com/go-json-experiment/json"

	"example.com/petstore/domain"
	"example.com/petstore/internal/test/testkit"
)

func TestAppendJSONMatchesMarshal(t *testing.T) {
	t.Parallel()
	var samples []Record // without field names, so that a new field needs a value here
	names := []string{"Rex", "", `"quoted" \\`, "<b>&amp;</b>", "\u2028\u2029", "日本語 🐕", "tab\tnew\nline\x00\x1f\x7f"}
	for _, number := range []int64{0, 1, -1, 42, math.MaxInt64, math.MinInt64} {
		for _, name := range names {
			for _, status := range []domain.PetStatus{"", domain.PetAvailable, domain.PetPending, domain.PetSold} {
				samples = append(samples, Pet{number, name, -number, status})
			}
		}
		for _, name := range names {
			samples = append(samples, Category{number, name, Inventory{1, number, 3, 4, 5}}, NamedCategory{number, name})
		}
		for _, status := range []domain.OrderStatus{domain.OrderPlaced, domain.OrderDelivered, domain.OrderCancelled} {
			samples = append(samples, Order{number, -number, status, "2026-11-20T10:06:30.000Z", "2026-11-20T10:06:30.001Z"})
		}
	}
	for _, sample := range samples {
		want, err := json.Marshal(sample)
		if err != nil {
			t.Fatal(err)
		}
		if got, err := sample.AppendJSON(nil); err != nil || string(got) != string(want) {
			t.Errorf("got %s and error %v, want %s", got, err, want)
		}
	}
}

// The JSON of a recorded change is that of a Change, whatever records it has.
func TestRecordedChangeIsEncodedAsAChange(t *testing.T) {
	t.Parallel()
	pet, before, order := domain.Pet{ID: 1, Name: "<Rex>", CategoryID: -7}, testkit.Filled[domain.Pet](t), testkit.Filled[domain.Order](t)
	category := testkit.Filled[domain.Category](t)
	wirePet, wireBefore, wireOrder, wireCategory := PetOf(pet), PetOf(before), OrderOf(order), NamedCategory(category)
	for caller, test := range map[string]struct {
		records domain.ChangedRecords
		want    Change
	}{
		"":                    {domain.ChangedRecords{Pet: &pet}, Change{Pet: &wirePet}},
		"key:1":               {domain.ChangedRecords{Pet: &pet, Before: &before}, Change{Pet: &wirePet, Before: &wireBefore}},
		"user:\"ann\" \u2028": {domain.ChangedRecords{Order: &order}, Change{Order: &wireOrder}},
		"command:import":      {domain.ChangedRecords{Category: &category}, Change{Category: &wireCategory}},
	} {
		records, err := AppendRecords(nil, test.records)
		testkit.Check(t, err)
		header := domain.ChangeHeader{Seq: 7, Type: domain.ChangePetUpdated, At: order.CreatedAt, Caller: caller}
		got, err := RecordedChangeOf(domain.RecordedChange{ChangeHeader: header, Records: records}).AppendJSON(nil)
		testkit.Check(t, err)
		test.want.Seq, test.want.Type, test.want.At, test.want.Caller = 7, header.Type, Timestamp(header.At), caller
		want, err := json.Marshal(test.want)
		testkit.Equal(t, "the JSON", string(want), string(got), err)
		decoded, err := domain.RecordedChange{Records: records}.Decode()
		testkit.Equal(t, "the records", test.records, decoded.ChangedRecords, err)
	}
}

// The stored results of idempotency keys are the JSON of package domain.
func TestJSONOfTheAPIIsThatOfStoredResults(t *testing.T) {
	t.Parallel()
	sold, order := testkit.Filled[domain.Pet](t), testkit.Filled[domain.Order](t)
	for _, pair := range [][2]any{
		{sold, PetOf(sold)},
		{domain.Pet{ID: 1, Name: "Rex"}, PetOf(domain.Pet{ID: 1, Name: "Rex"})},
		{order, OrderOf(order)},
	} {
		stored, err := stdjson.Marshal(pair[0])
		if err != nil {
			t.Fatal(err)
		}
		if sent, err := json.Marshal(pair[1]); err != nil || string(sent) != string(stored) {
			t.Errorf("got the stored %s, want %s", stored, sent)
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
