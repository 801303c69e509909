package http_test

import (
	"encoding/json"
	"net/http"
	"net/url"
	"regexp"
	"slices"
	"strconv"
	"testing"

	"github.com/google/go-cmp/cmp"

	"example.com/petstore/domain"
)

var querySeeds = []string{
	"", "&", "limit=1", "limit=100", "limit=101", "limit=0", "limit=-1", "limit=", "limit", "limit=+5", "limit=%2B5", "limit=5.0", "limit=0x10", "limit=007",
	"limit=1_0", "limit=5&limit=6", "l%69mit=3", "Limit=0", "after=5", "after=-5", "after=9223372036854775807", "after=-9223372036854775808",
	"after=9223372036854775808", "after=", "after=-0", "after=5&after=5", "status=sold", "status=available&limit=3&after=7", "status=pending", "status=", "status=Sold",
	"status=s%6fld", "status=sold&status=sold", "status=gone", "limit=%zz", "x=%", "a;b", "limit=5;status=sold", "x=1&x=2&y", "%00=1", "limit=5%00", "\xff", "status=%ff", "limit=٥",
}

func FuzzQuery(f *testing.F) {
	s := newFuzzServer(f)
	toCreate := newPets(110, "")
	for i := range toCreate {
		toCreate[i].Status = []domain.PetStatus{"", "available", "pending", "sold"}[i%4]
	}
	all := s.createPets(f, toCreate...)
	for _, seed := range querySeeds {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, query string) {
		limit, after, status, valid := parseListQuery(query)
		w := s.roundTrip(t, http.MethodGet, query, "", http.Header{})
		if !valid {
			if w.Code != http.StatusBadRequest {
				t.Fatalf("%q: got %d %s, want 400", query, w.Code, w.Body)
			}
			return
		}
		var got []domain.Pet
		if err := json.Unmarshal(w.Body.Bytes(), &got); w.Code != http.StatusOK || err != nil {
			t.Fatalf("%q: got %d %s, want a page", query, w.Code, w.Body)
		}
		want := slices.DeleteFunc(slices.Clone(all), func(p domain.Pet) bool {
			return p.ID <= after || status != "" && string(p.Status) != status
		})
		more := len(want) > limit
		want = want[:min(limit, len(want))]
		if diff := cmp.Diff(want, got); diff != "" || more != (w.Header().Get("Link") != "") {
			t.Fatalf("%q: got Link %q, want one: %t; page (-want +got):\n%s", query, w.Header().Get("Link"), more, diff)
		}
	})
}

var (
	integer   = regexp.MustCompile(`^[0-9]+$`)
	petStatus = regexp.MustCompile(`^(available|pending|sold)$`)
)

// parseListQuery is a second implementation of the documented parameters.
func parseListQuery(query string) (limit int, after int64, status string, valid bool) {
	values, err := url.ParseQuery(query)
	if err != nil {
		return 0, 0, "", false
	}
	number := func(name, fallback string) (n int64, valid bool) {
		texts, ok := values[name]
		if !ok {
			texts = []string{fallback}
		}
		if len(texts) > 1 || !integer.MatchString(texts[0]) {
			return 0, false
		}
		n, err := strconv.ParseInt(texts[0], 10, 64)
		return n, err == nil
	}
	n, validLimit := number("limit", "20")
	after, validAfter := number("after", "0")
	statuses := values["status"]
	validStatus := len(statuses) == 0 || len(statuses) == 1 && petStatus.MatchString(statuses[0])
	return int(n), after, values.Get("status"), validLimit && 1 <= n && n <= 100 && validAfter && validStatus
}
