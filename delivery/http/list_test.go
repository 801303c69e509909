package http_test

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/url"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"

	"example.com/petstore/domain"
)

// link returns the target of the header Link with this relation, resolved against the URL
// of the request, or "" if there is none.
func (res response) link(t *testing.T, relation string) string {
	t.Helper()
	found := regexp.MustCompile(`^<([^<>]*)>; rel="` + relation + `"$`).FindStringSubmatch(res.Header.Get("Link"))
	if found == nil {
		return ""
	}
	target, err := url.Parse(found[1])
	if err != nil {
		t.Fatal(err)
	}
	return res.Request.URL.ResolveReference(target).RequestURI()
}

// ids returns the ids of the records of a list.
func (res response) ids(t *testing.T) []int64 {
	t.Helper()
	var records []struct{ ID int64 }
	if err := json.Unmarshal(res.body, &records); err != nil {
		t.Fatal(err)
	}
	ids := make([]int64, len(records))
	for i, record := range records {
		ids[i] = record.ID
	}
	return ids
}

// walkPages follows the next links of a list to its end and returns the ids of each page.
func (s *testServer) walkPages(t *testing.T, path string) (pages [][]int64) {
	t.Helper()
	for range 1000 {
		res := s.expect(t, get(path), wantResponse{status: 200})
		pages = append(pages, res.ids(t))
		if path = res.link(t, "next"); path == "" {
			return pages
		}
	}
	t.Fatalf("got a next link %s after 1000 pages", path)
	return nil
}

func TestListIsOrderedByIDAndLastPageHasNoLink(t *testing.T) {
	t.Parallel()
	s := newTestServer(t)
	s.createPets(t, slices.Concat(newPets(2, "sold"), newPets(1, ""), newPets(3, "available"), newPets(1, "pending"))...)
	s.insertOrders(t, 3)
	for path, pages := range map[string][][]int64{
		"/v1/pets":                          {{1, 2, 3, 4, 5, 6, 7}},
		"/v1/pets?limit=7":                  {{1, 2, 3, 4, 5, 6, 7}},
		"/v1/pets?limit=6":                  {{1, 2, 3, 4, 5, 6}, {7}},
		"/v1/pets?limit=3":                  {{1, 2, 3}, {4, 5, 6}, {7}},
		"/v1/pets?after=5&limit=1":          {{6}, {7}},
		"/v1/pets?after=7":                  {{}},
		"/v1/pets?after=0&limit=100":        {{1, 2, 3, 4, 5, 6, 7}},
		"/v1/pets?status=available&limit=2": {{4, 5}, {6}},
		"/v1/pets?status=sold&limit=2":      {{1, 2}},
		"/v1/pets?status=sold&after=1":      {{2}},
		"/v1/pets?status=pending":           {{7}},
		"/v1/store/orders":                  {{1, 2, 3}},
		"/v1/store/orders?limit=2":          {{1, 2}, {3}},
		"/v1/store/orders?limit=1&after=1":  {{2}, {3}},
	} {
		t.Run(path, func(t *testing.T) {
			t.Parallel()
			if diff := cmp.Diff(pages, s.walkPages(t, path)); diff != "" {
				t.Errorf("pages (-want +got):\n%s", diff)
			}
		})
	}
}

// insertOrders inserts n orders, for the pets 1 to n.
func (s *testServer) insertOrders(t *testing.T, n int) {
	t.Helper()
	for id := 1; id <= n; id++ {
		s.database.Exec(t, `INSERT INTO orders (pet_id, status, created_at, updated_at) VALUES ($1, 'placed', $2, $3)`,
			id, noon.UnixMilli(), noon.UnixMilli()+7)
	}
}

func TestEmptyListIsAnEmptyArray(t *testing.T) {
	t.Parallel()
	s := newTestServer(t)
	for _, path := range []string{"/v1/pets", "/v1/pets?status=sold", "/v1/pets?after=9", "/v1/store/orders"} {
		if res := s.expect(t, get(path), ok("").withHeader("-Link")); string(res.body) != "[]" {
			t.Errorf("%s: got %s, want []", path, res.body)
		}
	}
}

func TestListLimitDefaultsTo20(t *testing.T) {
	t.Parallel()
	s := newTestServer(t)
	s.createPets(t, newPets(101, "sold")...)
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
	s.createPets(t, newPets(30, "sold")...)
	s.insertOrders(t, 3)
	s.run(t, []testCase{
		{"default limit", get("/v1/pets"), ok("").withHeader(`Link: <?limit=20&after=20>; rel="next"`)},
		{"limit", get("/v1/pets?limit=3"), ok("").withHeader(`Link: <?limit=3&after=3>; rel="next"`)},
		{"limit and after", get("/v1/pets?limit=3&after=3"), ok("").withHeader(`Link: <?limit=3&after=6>; rel="next"`)},
		{"filter", get("/v1/pets?status=sold&limit=3"), ok("").withHeader(`Link: <?limit=3&status=sold&after=3>; rel="next"`)},
		{"without unknown parameters", get("/v1/pets?limit=3&x=%3E%22&page=2"), ok("").withHeader(`Link: <?limit=3&after=3>; rel="next"`)},
		{"end of the list", get("/v1/pets?limit=3&after=27"), ok("").withHeader("-Link")},
		{"after the end", get("/v1/pets?after=30"), ok("").withHeader("-Link")},
		{"HEAD", newRequest("HEAD", "/v1/pets?limit=3"), ok("").withHeader(`Link: <?limit=3&after=3>; rel="next"`)},
		{"orders", get("/v1/store/orders?limit=2"), ok("").withHeader(`Link: <?limit=2&after=2>; rel="next"`)},
	})
}

func TestOrderTimesAreUTCMilliseconds(t *testing.T) {
	t.Parallel()
	s := newTestServer(t)
	s.createPets(t, newPets(1, "pending")...)
	s.insertOrders(t, 1)
	s.expect(t, get("/v1/store/orders"), ok(`[{
		"id":1,"petId":1,"status":"placed","createdAt":"2026-11-20T12:00:00.000Z","updatedAt":"2026-11-20T12:00:00.007Z"
	}]`))
}

func TestPagingReturnsEveryExistingPetOnceDuringInserts(t *testing.T) {
	t.Parallel()
	s := newTestServer(t)
	existing := s.createPets(t, newPets(60, "available")...)
	var writers sync.WaitGroup
	for range 4 {
		writers.Go(func() {
			for range 25 {
				res, err := s.send(t.Context(), postPet(`{"name":"Tom","categoryId":7,"status":"available"}`))
				if err != nil || res.StatusCode != http.StatusCreated {
					t.Errorf("create a pet: got %s and error %v", res.body, err)
					return
				}
			}
		})
	}
	for _, path := range []string{"/v1/pets?limit=7", "/v1/pets?limit=7&status=available", "/v1/pets?limit=100"} {
		ids := slices.Concat(s.walkPages(t, path)...)
		if !slices.IsSorted(ids) || len(slices.Compact(slices.Clone(ids))) != len(ids) {
			t.Errorf("%s: got ids %v, want them in ascending order", path, ids)
		}
		for _, pet := range existing {
			if !slices.Contains(ids, pet.ID) {
				t.Errorf("%s: got no pet %d", path, pet.ID)
			}
		}
	}
	writers.Wait()
	if all := slices.Concat(s.walkPages(t, "/v1/pets?limit=9")...); len(all) != 160 {
		t.Errorf("got %d pets after all inserts, want 160", len(all))
	}
}

func TestCreatedPetIsListedImmediately(t *testing.T) {
	t.Parallel()
	const clients, petsPerClient = 16, 20
	s := newTestServer(t)
	var wait sync.WaitGroup
	for range clients {
		wait.Go(func() {
			for range petsPerClient {
				s.createAndRead(t)
			}
		})
	}
	wait.Wait()
}

// createAndRead creates a pet and checks that the next read of each page with it, and of
// its location, contains it.
func (s *testServer) createAndRead(t *testing.T) {
	res, err := s.send(t.Context(), postPet(`{"name":"Rex","categoryId":7,"status":"sold"}`))
	var pet domain.Pet
	if err != nil || res.StatusCode != http.StatusCreated || json.Unmarshal(res.body, &pet) != nil || pet.ID == 0 {
		t.Errorf("create a pet: got %s and error %v", res.body, err)
		return
	}
	location, err := res.Location()
	if err != nil {
		t.Error(err)
		return
	}
	onePet := fmt.Sprintf("?limit=1&after=%d", pet.ID-1)
	sharedPage := fmt.Sprintf("?limit=100&after=%d", (pet.ID-1)/100*100)
	for _, path := range []string{"/v1/pets" + sharedPage, "/v1/pets" + onePet, "/v1/pets" + onePet + "&status=sold", location.Path} {
		read, err := s.send(t.Context(), get(path))
		if err != nil || !strings.Contains(string(read.body), string(res.body)) {
			t.Errorf("%s: got %s and error %v, want the new pet %s", path, read.body, err, res.body)
		}
	}
}
