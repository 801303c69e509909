package http

import (
	"math"
	"testing"

	"github.com/go-json-experiment/json"

	"example.com/petstore/domain"
)

func TestAppendJSONMatchesMarshal(t *testing.T) {
	t.Parallel()
	names := []string{"Rex", "", `"quoted" \\`, "<b>&amp;</b>", "\u2028\u2029", "日本語 🐕", "tab\tnew\nline\x00\x1f\x7f"}
	for _, number := range []int64{0, 1, -1, 42, math.MaxInt64, math.MinInt64} {
		for _, name := range names {
			for _, status := range []domain.PetStatus{"", domain.PetAvailable, domain.PetPending, domain.PetSold} {
				checkAppendJSON(t, pet{ID: number, Name: name, CategoryID: -number, Status: status})
			}
		}
		for _, status := range []domain.OrderStatus{domain.OrderPlaced, domain.OrderDelivered, domain.OrderCancelled} {
			checkAppendJSON(t, order{
				ID: number, PetID: -number, Status: status,
				CreatedAt: "2026-11-20T10:06:30.000Z", UpdatedAt: "2026-11-20T10:06:30.001Z",
			})
		}
	}
}

func checkAppendJSON(t *testing.T, r record) {
	t.Helper()
	want, err := json.Marshal(r)
	if err != nil {
		t.Fatal(err)
	}
	if got, err := r.appendJSON(nil); err != nil || string(got) != string(want) {
		t.Errorf("got %s and error %v, want %s", got, err, want)
	}
}

func TestInvalidUTF8IsNotEncoded(t *testing.T) {
	t.Parallel()
	invalid := pet{Name: "R\xffx"}
	if got, err := invalid.appendJSON(nil); err == nil {
		t.Errorf("got %s, want an error", got)
	}
	if got, err := encodeAll([]pet{{Name: "Rex"}, invalid}, func(p pet) pet { return p }); err == nil {
		t.Errorf("got %s, want an error", got)
	}
}
