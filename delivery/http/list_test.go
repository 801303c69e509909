package http_test

import (
	"encoding/json"
	"fmt"
	"net/url"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"

	"example.com/petstore/domain"
)

// link is the target of the Link of an answer, resolved as a client does it, or
// empty when there is none with this relation.
func (a answer) link(t *testing.T, relation string) string {
	t.Helper()
	found := regexp.MustCompile(`^<([^<>]*)>; rel="` + relation + `"$`).FindStringSubmatch(a.Header.Get("Link"))
	if found == nil {
		return ""
	}
	target, err := url.Parse(found[1])
	if err != nil {
		t.Fatal(err)
	}
	return a.Request.URL.ResolveReference(target).RequestURI()
}

// ids are those of the records of a list.
func (a answer) ids(t *testing.T) []int64 {
	t.Helper()
	var records []struct{ ID int64 }
	if err := json.Unmarshal(a.body, &records); err != nil {
		t.Fatal(err)
	}
	ids := make([]int64, len(records))
	for i, record := range records {
		ids[i] = record.ID
	}
	return ids
}

// walk follows the links of a list to its end and returns the ids of each page.
func (s *testServer) walk(t *testing.T, path string) (pages [][]int64) {
	t.Helper()
	for range 1000 {
		a := s.expect(t, get(path), want{status: 200})
		pages = append(pages, a.ids(t))
		if path = a.link(t, "next"); path == "" {
			return pages
		}
	}
	t.Fatalf("the list does not end: %s", path)
	return nil
}

func TestListIsAscendingAndEndsWithoutALink(t *testing.T) {
	t.Parallel()
	s := newTestServer(t)
	s.stock(t, slices.Concat(pets(2, "sold"), pets(1, ""), pets(3, "available"), pets(1, "pending"))...)
	s.placeOrders(t, 3)
	for path, pages := range map[string][][]int64{
		"/v1/pets":                 {{1, 2, 3, 4, 5, 6, 7}},
		"/v1/pets?limit=7":         {{1, 2, 3, 4, 5, 6, 7}},
		"/v1/pets?limit=6":         {{1, 2, 3, 4, 5, 6}, {7}},
		"/v1/pets?limit=3":         {{1, 2, 3}, {4, 5, 6}, {7}},
		"/v1/pets?after=5&limit=1": {{6}, {7}},
		"/v1/pets?after=7":         {{}},
		"/v1/pets?after=-9223372036854775808&limit=100": {{1, 2, 3, 4, 5, 6, 7}},
		"/v1/pets?status=available&limit=2":             {{4, 5}, {6}},
		"/v1/pets?status=sold&limit=2":                  {{1, 2}},
		"/v1/pets?status=sold&after=1":                  {{2}},
		"/v1/pets?status=pending":                       {{7}},
		"/v1/store/orders":                              {{1, 2, 3}},
		"/v1/store/orders?limit=2":                      {{1, 2}, {3}},
		"/v1/store/orders?limit=1&after=1":              {{2}, {3}},
	} {
		t.Run(path, func(t *testing.T) {
			t.Parallel()
			if diff := cmp.Diff(pages, s.walk(t, path)); diff != "" {
				t.Errorf("pages (-want +got):\n%s", diff)
			}
		})
	}
}

// placeOrders adds orders, each for a pet of its own.
func (s *testServer) placeOrders(t *testing.T, n int) {
	t.Helper()
	for id := 1; id <= n; id++ {
		s.exec(t, `INSERT INTO orders (pet_id, status, created_at, updated_at) VALUES (?, 'placed', ?, ?)`,
			id, noon.UnixMilli(), noon.UnixMilli()+7)
	}
}

func TestEmptyListIsAnEmptyArray(t *testing.T) {
	t.Parallel()
	s := newTestServer(t)
	for _, path := range []string{"/v1/pets", "/v1/pets?status=sold", "/v1/pets?after=9", "/v1/store/orders"} {
		if a := s.expect(t, get(path), ok("").with("-Link")); string(a.body) != "[]" {
			t.Errorf("%s: got %s, want []", path, a.body)
		}
	}
}

func TestListHoldsTwentyUnlessAskedForOthers(t *testing.T) {
	t.Parallel()
	s := newTestServer(t)
	s.stock(t, pets(101, "sold")...)
	for path, n := range map[string]int{
		"/v1/pets": 20, "/v1/pets?status=sold": 20, "/v1/pets?limit=1": 1, "/v1/pets?limit=100": 100, "/v1/pets?limit=100&after=1": 100,
	} {
		if got := len(s.expect(t, get(path), ok("")).ids(t)); got != n {
			t.Errorf("%s: got %d pets, want %d", path, got, n)
		}
	}
}

func TestLinkIsRelativeAndKeepsLimitAndFilters(t *testing.T) {
	t.Parallel()
	s := newTestServer(t)
	s.stock(t, pets(30, "sold")...)
	s.placeOrders(t, 3)
	s.run(t, []testCase{
		{"default limit", get("/v1/pets"), ok("").with(`Link: <?limit=20&after=20>; rel="next"`)},
		{"limit", get("/v1/pets?limit=3"), ok("").with(`Link: <?limit=3&after=3>; rel="next"`)},
		{"limit and after", get("/v1/pets?limit=3&after=3"), ok("").with(`Link: <?limit=3&after=6>; rel="next"`)},
		{"filter", get("/v1/pets?status=sold&limit=3"), ok("").with(`Link: <?limit=3&status=sold&after=3>; rel="next"`)},
		{"unknown parameters are left out", get("/v1/pets?limit=3&x=%3E%22&page=2"), ok("").with(`Link: <?limit=3&after=3>; rel="next"`)},
		{"end of the list", get("/v1/pets?limit=3&after=27"), ok("").with("-Link")},
		{"behind the end", get("/v1/pets?after=30"), ok("").with("-Link")},
		{"by HEAD", send("HEAD", "/v1/pets?limit=3"), ok("").with(`Link: <?limit=3&after=3>; rel="next"`)},
		{"orders", get("/v1/store/orders?limit=2"), ok("").with(`Link: <?limit=2&after=2>; rel="next"`)},
	})
}

func TestOrderIsToldWithTimesInUTCToTheMillisecond(t *testing.T) {
	t.Parallel()
	s := newTestServer(t)
	s.stock(t, pets(1, "pending")...)
	s.placeOrders(t, 1)
	s.expect(t, get("/v1/store/orders"), ok(`[{
		"id":1,"petId":1,"status":"placed","createdAt":"2026-11-20T12:00:00.000Z","updatedAt":"2026-11-20T12:00:00.007Z"
	}]`))
}

func TestWalkShowsWhatExistedThroughoutOnceWhileOthersAdd(t *testing.T) {
	t.Parallel()
	s := newTestServer(t)
	there := s.stock(t, pets(60, "available")...)
	var adding sync.WaitGroup
	for range 4 {
		adding.Go(func() {
			for range 25 {
				a, err := s.send(t.Context(), post(`{"name":"Tom","categoryId":7,"status":"available"}`))
				if err != nil || a.StatusCode != 201 {
					t.Errorf("add a pet: %v", err)
					return
				}
			}
		})
	}
	for _, path := range []string{"/v1/pets?limit=7", "/v1/pets?limit=7&status=available", "/v1/pets?limit=100"} {
		seen := slices.Concat(s.walk(t, path)...)
		if !slices.IsSorted(seen) || len(slices.Compact(slices.Clone(seen))) != len(seen) {
			t.Errorf("%s: the ids %v do not ascend", path, seen)
		}
		for _, pet := range there {
			if !slices.Contains(seen, pet.ID) {
				t.Errorf("%s: the pet %d was not seen", path, pet.ID)
			}
		}
	}
	adding.Wait()
	if all := slices.Concat(s.walk(t, "/v1/pets?limit=9")...); len(all) != 160 {
		t.Errorf("got %d pets in the end, want 160", len(all))
	}
}

func TestReaderSeesOwnWrites(t *testing.T) {
	t.Parallel()
	s := newTestServer(t)
	var clients sync.WaitGroup
	for range 8 {
		clients.Go(func() {
			for range 12 {
				s.addAndRead(t)
			}
		})
	}
	clients.Wait()
}

// addAndRead adds a pet and wants it in every list that it belongs to, at once.
func (s *testServer) addAndRead(t *testing.T) {
	a, err := s.send(t.Context(), post(`{"name":"Rex","categoryId":7,"status":"sold"}`))
	var added domain.Pet
	if err != nil || json.Unmarshal(a.body, &added) != nil || added.ID == 0 {
		t.Errorf("add a pet: %v: %s", err, a.body)
		return
	}
	location, err := a.Location()
	if err != nil {
		t.Error(err)
		return
	}
	after := fmt.Sprintf("?limit=1&after=%d", added.ID-1)
	for _, path := range []string{"/v1/pets" + after, "/v1/pets" + after + "&status=sold", location.Path} {
		read, err := s.send(t.Context(), get(path))
		if err != nil || !strings.Contains(string(read.body), string(a.body)) {
			t.Errorf("%s lacks the pet %s that was just added: %v %s", path, a.body, err, read.body)
		}
	}
}
