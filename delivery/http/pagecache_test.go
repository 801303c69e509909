package http_test

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	rest "example.com/petstore/delivery/http"
	"example.com/petstore/domain"
	"example.com/petstore/internal/test/testkit"
)

func TestPageIsReadAgainOnlyAfterItChanges(t *testing.T) {
	t.Parallel()
	s := newTestServer(t, withoutOthers)
	wantReads := func(hits, reads int) {
		t.Helper()
		for result, want := range map[string]int{"hit": hits, "miss": reads} {
			if got := s.scrape(t)[`petstore_http_page_cache_requests_total{result="`+result+`"}`]; got != fmt.Sprint(want) {
				t.Errorf("got %s of result %s, want %d", got, result, want)
			}
		}
	}
	s.expect(t, get("/v1/pets"), ok(`[]`))
	s.createPets(t, domain.NewPet{Name: "1", Status: domain.PetSold})
	for range 3 { // a rejected order changes nothing
		s.expect(t, get("/v1/pets"), ok(`[{"id":1,"name":"1","categoryId":0,"status":"sold"}]`))
		s.expect(t, postOrder(`{"petId":1}`), rejected(409, "pet_not_available"))
		s.expect(t, postOrder(`{"petId":9}`), rejected(404, "pet_not_found"))
	}
	wantReads(2, 2)
	s.createPets(t, domain.NewPet{Name: "2"}) // added to this page, which is the last one
	s.expect(t, get("/v1/pets"), ok(`[{"id":1,"name":"1","categoryId":0,"status":"sold"},{"id":2,"name":"2","categoryId":0}]`))
	page := s.expect(t, get("/v1/pets?limit=1"), ok(""))
	s.createPets(t, domain.NewPet{Name: "3"}) // added after this page, which already has a link to the next page
	for _, path := range []string{"/v1/pets?limit=1", "/v1/pets?limit=01&after=0", "/v1/pets?%6Cimit=1"} {
		s.expect(t, get(path), ok(string(page.body)))
	}
	wantReads(5, 4)
	s.expect(t, get("/v1/store/orders"), ok(`[]`))
	s.expect(t, get("/v1/pets?limit=1&after=1"), ok(`[{"id":2,"name":"2","categoryId":0}]`))
	s.expect(t, get("/v1/pets?status=pending&categoryId=0"), ok(`[]`))
	s.expect(t, postOrder(`{"petId":2}`), created("")) // changes these pages; the first of them has a link to the next page
	s.expect(t, get("/v1/pets?limit=1&after=1"), ok(`[{"id":2,"name":"2","categoryId":0,"status":"pending"}]`))
	s.expect(t, get("/v1/pets?status=pending&categoryId=0"), ok(`[{"id":2,"name":"2","categoryId":0,"status":"pending"}]`))
	s.expect(t, get("/v1/pets?categoryId=-9223372036854775808"), ok(`[]`))
	if orders := s.expect(t, get("/v1/store/orders"), ok("")); len(orders.body) < 10 {
		t.Errorf("got the orders %s, want one", orders.body)
	}
}

func TestRecordIsReadAgainOnlyAfterAChange(t *testing.T) {
	t.Parallel()
	s := newTestServer(t, withoutOthers)
	reads := func(want string) {
		t.Helper()
		testkit.Equal(t, "reads", want, s.scrape(t)[`petstore_http_page_cache_requests_total{result="miss"}`])
	}
	s.createPets(t, newPets(2, "available")...)
	s.expect(t, get("/v1/pets/3"), rejected(404, "pet_not_found"))
	first := s.expect(t, get("/v1/pets/1"), ok(`{"id":1,"name":"Rex","categoryId":7,"status":"available"}`))
	s.createPets(t, newPets(1, "sold")...)
	s.expect(t, get("/v1/pets/3"), ok("")) // the 404 was not cached
	for _, path := range []string{"/v1/pets/1", "/v1/pets/01"} {
		s.expect(t, get(path), ok(string(first.body)).withHeader("ETag: "+first.Header.Get("ETag"), "Sunset: Thu, 05 Dec 2030 00:00:00 GMT"))
	}
	reads("2")
	s.expect(t, postOrder(`{"petId":1}`), created(""))
	s.expect(t, get("/v1/pets/1"), ok(`{"id":1,"name":"Rex","categoryId":7,"status":"pending"}`))

	placed := s.expect(t, get("/v1/store/orders/1"), ok("").withHeader("Cache-Control: private, no-cache", "-Sunset"))
	unchanged := get("/v1/store/orders/1", "If-None-Match: "+placed.Header.Get("ETag"))
	s.expect(t, unchanged, wantResponse{status: http.StatusNotModified})
	reads("4")
	s.expect(t, newRequest("POST", "/v1/store/orders/1/deliver"), ok(""))
	if delivered := s.expect(t, unchanged, ok("")); !strings.Contains(string(delivered.body), `"status":"delivered"`) {
		t.Errorf("got the order %s, want delivered", delivered.body)
	}
	s.expect(t, newRequest("DELETE", "/v1/pets/2"), wantResponse{status: 204})
	s.expect(t, get("/v1/pets/2"), rejected(404, "pet_not_found"))
}

func TestRecordOfAServerIsNotCached(t *testing.T) {
	t.Parallel()
	s := newTestServer(t, withoutOthers, func(o *apiOptions) { o.Remote = true })
	s.createPets(t, newPets(1, "sold")...)
	for range 2 {
		s.expect(t, get("/v1/pets/1"), ok("").withHeader("Cache-Control: private, no-cache"))
		s.expect(t, get("/v1/pets"), ok(""))
	}
	for _, result := range []string{"hit", "miss"} { // the two requests for the list
		testkit.Equal(t, result, "1", s.scrape(t)[`petstore_http_page_cache_requests_total{result="`+result+`"}`])
	}
}

func TestPagesByNewestAreFresh(t *testing.T) {
	t.Parallel()
	s := newTestServer(t)
	const newest, below, chosen = "/v1/pets?sort=-id&limit=1", "/v1/pets?sort=-id&limit=1&after=2", "/v1/pets?id=1,3&limit=1"
	const belowAnother = "/v1/pets?sort=-id&limit=1&after=9" // the animal 9 does not exist yet
	for id := range 4 {
		s.createPets(t, domain.NewPet{Name: strconv.Itoa(id + 1)})
		s.expect(t, get(newest), ok(fmt.Sprintf(`[{"id":%d,"name":"%[1]d","categoryId":0}]`, id+1)))
		s.expect(t, get(belowAnother), ok(fmt.Sprintf(`[{"id":%d,"name":"%[1]d","categoryId":0}]`, id+1)))
		s.expect(t, get(below), ok(`[{"id":1,"name":"1","categoryId":0}]`))
		want := `[{"id":1,"name":"1","categoryId":0}]`
		if id >= 2 {
			want = `[{"id":1,"name":"1","categoryId":0},{"id":3,"name":"3","categoryId":0}]`
		}
		s.expect(t, get(chosen), ok(want).withHeader("-Link"))
		s.expect(t, get("/v1/store/inventory"), ok(fmt.Sprintf(`{"available":0,"pending":0,"sold":0,"none":%d,"total":%[1]d}`, id+1)))
	}
	s.expect(t, newRequest("DELETE", "/v1/pets/4"), wantResponse{status: 204})
	s.expect(t, get(newest), ok(`[{"id":3,"name":"3","categoryId":0}]`))
	s.expect(t, newRequest("DELETE", "/v1/pets/1"), wantResponse{status: 204})
	s.expect(t, get(below), ok(`[]`))
	s.expect(t, get(chosen), ok(`[{"id":3,"name":"3","categoryId":0}]`))
}

func TestPagesOfASearchAreFresh(t *testing.T) {
	t.Parallel()
	s := newTestServer(t, withoutOthers)
	pets := slices.Repeat([]domain.NewPet{{Name: "Tom"}}, 2*searchWindow)
	pets[searchWindow].Name = "Rex, the Straße"
	s.createPets(t, pets...)
	const text = "&q=X%2C+the+STRASSE"
	// wantSearch expects a page, with a Link to the page after next. If next is 0, it is the last page.
	wantSearch := func(query, body string, next int) {
		t.Helper()
		link := "-Link"
		if next != 0 {
			filters, _, _ := strings.Cut(query, "&after=")
			link = fmt.Sprintf(`Link: <?limit=20%s&after=%d>; rel="next"`, filters, next)
		}
		s.expect(t, get("/v1/pets?limit=20"+query), ok(body).withHeader(link))
	}
	reads := func(want string) {
		t.Helper()
		testkit.Equal(t, "reads", want, s.scrape(t)[`petstore_http_page_cache_requests_total{result="miss"}`])
	}
	found := fmt.Sprintf(`[{"id":%d,"name":"Rex, the Straße","categoryId":0}]`, searchWindow+1)
	second, last := fmt.Sprint(text, "&after=", searchWindow), fmt.Sprint(text, "&after=", 2*searchWindow)
	for range 2 {
		wantSearch(text, `[]`, searchWindow)
		wantSearch(second, found, 2*searchWindow)
		wantSearch(last, `[]`, 0)
		wantSearch(text+"&sort=-id", found, searchWindow+1)
	}
	reads("4")
	s.createPets(t, domain.NewPet{Name: "x, the Strasse"}) // belongs to the last page, and moves the window of the newest
	wantSearch(text, `[]`, searchWindow)
	wantSearch(second, found, 2*searchWindow)
	reads("4")
	added := fmt.Sprintf(`{"id":%d,"name":"x, the Strasse","categoryId":0}`, 2*searchWindow+1)
	wantSearch(last, "["+added+"]", 0)
	wantSearch(text+"&sort=-id", "["+added+"]", searchWindow+2)
	s.expect(t, patched(`{"name":"X, the strasse"}`), ok(""))
	wantSearch(text, `[{"id":1,"name":"X, the strasse","categoryId":0}]`, searchWindow)
	s.expect(t, newRequest("DELETE", "/v1/pets/1"), wantResponse{status: 204})
	wantSearch(text, found, searchWindow+1)
	wantSearch(fmt.Sprintf("%s&id=1,2,%d", text, 2*searchWindow+1), "["+added+"]", 0)
}

func TestSpellingsOfAQueryAreOneCachedPage(t *testing.T) {
	t.Parallel()
	s := newTestServer(t, withoutOthers)
	s.createPets(t, newPets(3, "sold")...)
	reads := func() string { return s.scrape(t)[`petstore_http_page_cache_requests_total{result="miss"}`] }
	for _, spellings := range [][]string{
		{"status=sold,none&sort=-id", "sort=-id&status=none,sold", "limit=20&status=none,sold&sort=-id&after=0"},
		{"q=e%CC%81+x&limit=20", "limit=20&q=%65%CC%81%20x&after=0", "after=0&q=e\u0301+x"},
		{"id=1,3&sort=id", "id=3,1", "id=03,01&limit=20"},
	} {
		for i, query := range spellings {
			before := reads()
			s.expect(t, get("/v1/pets?"+query), ok(""))
			if changed := reads() != before; changed != (i == 0) {
				t.Errorf("%s: got a read: %t", query, changed)
			}
		}
	}
	s.expect(t, get("/v1/store/inventory?categoryId=7"), ok(`{"available":0,"pending":0,"sold":3,"none":0,"total":3}`))
	s.expect(t, get("/v1/store/inventory?categoryId=8"), ok(`{"available":0,"pending":0,"sold":0,"none":0,"total":0}`))
	s.expect(t, get("/v1/store/inventory?status=sold"), rejected(400, "invalid_parameter"))
}

// An outage makes a store unavailable while away is true.
type outage struct {
	rest.Pets
	away atomic.Bool
}

func (o *outage) error() error {
	if o.away.Load() {
		return domain.Unavailable(errors.New("the server is away"))
	}
	return nil
}

func (o *outage) List(ctx context.Context, q domain.PetQuery) (domain.Page[domain.Pet], error) {
	if err := o.error(); err != nil {
		return domain.Page[domain.Pet]{}, err
	}
	return o.Pets.List(ctx, q)
}

// The Age of a stale page counts from when it was read. If the numbers were checked later, and no commit is known
// to have changed the page, the Age counts from that check.
func TestStalePageIsSentWhileTheStoreIsUnavailable(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		limit, checked time.Duration
		altered        bool
		sent           bool // false for 503
	}{
		{limit: 0, checked: 0},
		{limit: 500 * time.Millisecond, checked: 0, sent: true},
		{limit: 500 * time.Millisecond, checked: time.Second},
		{limit: 500 * time.Millisecond, checked: 0, altered: true},
		{limit: time.Minute, checked: 2 * time.Minute, sent: true},
		{limit: time.Minute, checked: 0, altered: true, sent: true},
	} {
		store := &outage{}
		s := newTestServer(t, withoutOthers, func(o *apiOptions) {
			store.Pets, o.Pets = o.Pets, store
			o.StaleIfUnavailable, o.NumbersAge = test.limit, func() time.Duration { return test.checked }
			numbers := o.Numbers
			o.Numbers = func(ctx context.Context) (domain.Numbers, error) {
				latest, err := numbers(ctx)
				return latest, cmp.Or(err, store.error())
			}
		})
		s.createPets(t, domain.NewPet{Name: "Rex", Status: domain.PetAvailable}, domain.NewPet{Name: "Tom"})
		const path, link = "/v1/pets?limit=1", `Link: <?limit=1&after=1>; rel="next"`
		began := time.Now()
		page := s.expect(t, get(path), ok("").withHeader("-Age"))
		if test.limit < time.Minute {
			time.Sleep(test.limit + 100*time.Millisecond) // the page was read too long ago
		}
		store.away.Store(true)
		if test.altered {
			s.expect(t, postOrder(`{"petId":1}`), created(""))
		}
		unavailable := rejected(503, "unavailable").withHeader("-Age", "Retry-After: 1")
		s.expect(t, get("/v1/pets?limit=2"), unavailable) // this page is not in memory
		want, sent := unavailable, "0"                    // stale pages
		if test.sent {
			want, sent = ok(string(page.body)).withHeader(link, "-ETag", "-Changes-Position"), "2"
		}
		for _, r := range []request{get(path, "If-None-Match: *"), get("/v1/pets?after=0&limit=1")} {
			age, err := strconv.Atoi(s.expect(t, r, want).Header.Get("Age"))
			if most := time.Since(began) + time.Second; test.sent && (err != nil || age < 1 || time.Duration(age)*time.Second > most) {
				t.Errorf("%+v: got the Age %d, want the seconds since the page was read, rounded up", test, age)
			}
		}
		testkit.Equal(t, "stale pages", sent, s.scrape(t)[`petstore_http_page_cache_requests_total{result="stale"}`])
		store.away.Store(false)
		s.expect(t, get(path), ok("").withHeader("-Age", link))
	}
}
