package usecase

import (
	"encoding/json"
	"testing"
	"time"

	"example.com/petstore/domain"
)

// The next version of the program reads the results that once stores, and compares the
// fingerprint of the values of a request. Do not change an expected text: a new field of
// domain.NewPet has the tag json:",omitempty", or retries of requests before an upgrade would be
// rejected, and a renamed one would make them return zero values.
func TestStoredResultsStayReadable(t *testing.T) {
	t.Parallel()
	noon := time.Date(2026, time.November, 20, 12, 0, 0, 0, time.UTC)
	for _, test := range []struct {
		value any
		want  string
	}{
		{domain.NewPet{Name: "Rex", CategoryID: 7, Status: domain.PetSold}, `{"Name":"Rex","CategoryID":7,"Status":"sold"}`},
		{domain.Pet{ID: 1, Name: "Rex", CategoryID: 7}, `{"ID":1,"Name":"Rex","CategoryID":7,"Status":""}`},
		{int64(42), `42`},
		{
			domain.Order{ID: 1, PetID: 2, Status: domain.OrderPlaced, CreatedAt: noon, UpdatedAt: noon},
			`{"ID":1,"PetID":2,"Status":"placed","CreatedAt":"2026-11-20T12:00:00Z","UpdatedAt":"2026-11-20T12:00:00Z"}`,
		},
	} {
		got, err := json.Marshal(test.value)
		if err != nil || string(got) != test.want {
			t.Errorf("got %s and %v, want %s", got, err, test.want)
		}
	}
}
