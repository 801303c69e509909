package http_test

import (
	"context"
	"fmt"
	"math"
	"net/http"
	"regexp"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	rest "example.com/petstore/delivery/http"
	"example.com/petstore/domain"
	"example.com/petstore/internal/test/testkit"
)

// positionOf returns the position in the header Changes-Position.
func positionOf(t *testing.T, res response) int64 {
	t.Helper()
	position, err := strconv.ParseInt(res.Header.Get("Changes-Position"), 10, 64)
	if err != nil || position <= 0 {
		t.Fatalf("%s: got Changes-Position %q", res.Request.URL, res.Header.Get("Changes-Position"))
	}
	return position
}

var changeTime = regexp.MustCompile(`"at":"\d{4}(-\d\d){2}T(\d\d:){2}\d\d\.\d{3}Z"`)

// changeOf returns the JSON of a change. Its time is replaced. An order is placed by a request, an animal is added without a
// caller.
func changeOf(seq int64, kind, record string) string {
	caller := `"caller":"key:1",`
	if kind == "pet.added" {
		caller = ""
	}
	return fmt.Sprintf(`{"seq":%d,"type":"%s","at":"TIME",%s%s}`, seq, kind, caller, record)
}

// eventOf returns the event for a change.
func eventOf(seq int64, kind, record string) string {
	return fmt.Sprintf("id: %d\nevent: %s\ndata: %s\n", seq, kind, changeOf(seq, kind, record))
}

func TestChangesAreListedInPages(t *testing.T) {
	t.Parallel()
	s := newTestServer(t)
	begin := positionOf(t, s.expect(t, get("/v1/pets"), ok(`[]`)))
	s.expect(t, get("/v1/changes"), ok(`[]`).withHeader(fmt.Sprintf(`Link: <?limit=20&after=%d>; rel="next"`, begin)))
	s.createPets(t, domain.NewPet{Name: "Rex <1>", CategoryID: math.MinInt64, Status: domain.PetAvailable}, domain.NewPet{Name: "Tom"})
	s.expect(t, postOrder(`{"petId":1}`), created(""))
	s.expect(t, newRequest(http.MethodPost, "/v1/store/orders/1/deliver"), ok(""))
	order := `"order":{"id":1,"petId":1,"status":"%s","createdAt":"2026-11-20T12:00:00.000Z","updatedAt":"2026-11-20T12:00:00.000Z"}`
	rex := `"pet":{"id":1,"name":"Rex <1>","categoryId":-9223372036854775808,"status":"%s"}`
	before := func(pet, status string) string {
		return strings.Replace(fmt.Sprintf(pet, status), `"pet"`, `"before"`, 1)
	}
	all := []string{
		changeOf(begin+1, "pet.added", fmt.Sprintf(rex, "available")),
		changeOf(begin+2, "pet.added", `"pet":{"id":2,"name":"Tom","categoryId":0}`),
		changeOf(begin+3, "pet.updated", fmt.Sprintf(rex, "pending")+","+before(rex, "available")),
		changeOf(begin+4, "order.placed", fmt.Sprintf(order, "placed")),
		changeOf(begin+5, "order.delivered", fmt.Sprintf(order, "delivered")),
		changeOf(begin+6, "pet.updated", fmt.Sprintf(rex, "sold")+","+before(rex, "pending")),
	}
	path, end := fmt.Sprintf("/v1/changes?limit=4&after=%d", begin), begin
	for _, page := range [][]string{all[:4], all[4:], {}, {}} {
		res := s.expect(t, get(path), ok(""))
		got, want := changeTime.ReplaceAllString(string(res.body), `"at":"TIME"`), "["+strings.Join(page, ",")+"]"
		end += int64(len(page))
		path = fmt.Sprintf("/v1/changes?limit=4&after=%d", end)
		if link := res.link(t, "next"); got != want || link != path {
			t.Errorf("got the link %s and the page\n%s, want %s and\n%s", link, got, path, want)
		}
	}
	oldest := fmt.Sprintf(`Link: <?limit=1&after=%d>; rel="next"`, begin+1)
	s.expect(t, get("/v1/changes?limit=1"), ok("").withHeader(oldest))
	wantRejected := func(query string, want wantResponse) {
		t.Helper()
		s.expect(t, get("/v1/changes?"+query), want)
		s.expect(t, get("/v1/changes?"+query, acceptEvents), want)
	}
	for query, message := range map[string]string{
		"after=-1": "after must be at least 0", "after=x": "after must be a 64-bit integer", "after=": "after must not be empty",
		"after=1&after=2": "after must be given once",
		"limit=0":         "limit must be at least 1", "limit=101&after=x": "limit must be at most 100",
	} {
		wantRejected(query, rejected(400, "invalid_parameter", message))
	}
	for _, after := range []int64{1, begin - 1, end + 1, math.MaxInt64} {
		message := fmt.Sprintf("the changes after %d are not known: read the lists again, then the changes after their Changes-Position", after)
		wantRejected(fmt.Sprintf("after=%d", after), rejected(410, "changes_expired", message))
	}
}

// TestPositionIsThatOfTheLatestChange expects that a response has all changes up to its position, also if it comes from
// memory: an animal that does not belong to a page in memory changes only its position.
func TestPositionIsThatOfTheLatestChange(t *testing.T) {
	t.Parallel()
	s := newTestServer(t)
	s.createPets(t, newPets(3, "available")...)
	s.expect(t, postOrder(`{"petId":1}`), created(""))
	paths := []string{"/v1/pets?limit=2", "/v1/pets", "/v1/pets?id=1", "/v1/pets/1", "/v1/store/orders/1", "/v1/store/orders", "/v1/store/inventory"}
	first := positionOf(t, s.expect(t, get("/v1/pets"), ok("")))
	for i := range 3 {
		for range 2 { // read, and from memory
			for _, path := range paths {
				res := s.expect(t, get(path), ok(""))
				if got := positionOf(t, res); got != first+int64(i) {
					t.Errorf("%s: got the position %d, want %d", path, got, first+int64(i))
				}
				unchanged := s.expect(t, get(path, "If-None-Match: "+res.Header.Get("ETag")), wantResponse{status: http.StatusNotModified})
				if got := positionOf(t, unchanged); got != first+int64(i) {
					t.Errorf("%s, not modified: got the position %d, want %d", path, got, first+int64(i))
				}
			}
		}
		s.createPets(t, domain.NewPet{Name: "Tom"})
	}
}

// addingPets adds an animal after each page that it has read.
type addingPets struct {
	rest.Pets
	add func()
}

func (p addingPets) List(ctx context.Context, q domain.PetQuery) (domain.Page[domain.Pet], error) {
	page, err := p.Pets.List(ctx, q)
	p.add()
	return page, err
}

func TestPositionIsReadBeforeThePage(t *testing.T) {
	t.Parallel()
	var s *testServer
	s = newTestServer(t, func(o *apiOptions) {
		o.Pets = addingPets{o.Pets, func() { s.createPets(t, domain.NewPet{Name: "Rex"}) }}
	})
	before := positionOf(t, s.expect(t, get("/v1/store/orders"), ok(`[]`)))
	if got := positionOf(t, s.expect(t, get("/v1/pets"), ok(`[]`))); got != before {
		t.Errorf("got the position %d, want %d: the page lacks the animal of the next change", got, before)
	}
}

// A response, also from memory, has all changes that were acknowledged before the request. A count has exactly the changes up
// to its position, a page at least these.
func TestResponseHasTheChangesUpToItsPositionWhileOthersWrite(t *testing.T) {
	t.Parallel()
	const writers, each = 4, 20
	s := newTestServer(t)
	begin := positionOf(t, s.expect(t, get("/v1/pets"), ok(`[]`)))
	var writing sync.WaitGroup
	var written atomic.Int64
	for range writers {
		writing.Go(func() {
			for range each {
				if res, err := s.send(t.Context(), postPet(newRex)); err != nil || res.StatusCode != http.StatusCreated {
					t.Errorf("got %v and %v", res, err)
				}
				written.Add(1)
			}
		})
	}
	for acknowledged := int64(0); acknowledged < writers*each; {
		acknowledged = written.Load()
		count := s.expect(t, get("/v1/store/inventory?categoryId=7"), ok(""))
		counted := positionOf(t, count) - begin
		count.check(t, ok(fmt.Sprintf(`{"available":0,"pending":0,"sold":0,"none":%d,"total":%[1]d}`, counted)))
		page := s.expect(t, get("/v1/pets?limit=100"), ok(""))
		listed := positionOf(t, page) - begin
		if got := int64(strings.Count(string(page.body), `"id":`)); got < listed || min(listed, counted) < acknowledged {
			t.Errorf("got %d animals with the position %d, and a count of %d, after %d responses", got, listed, counted, acknowledged)
		}
	}
	writing.Wait()
}

// countingPets adds an animal before each count.
type countingPets struct {
	rest.Pets
	add func()
}

func (p countingPets) Inventory(ctx context.Context, categoryID *int64) (domain.Inventory, error) {
	p.add()
	return p.Pets.Inventory(ctx, categoryID)
}

// countingCategories adds an animal before each page.
type countingCategories struct {
	rest.Categories
	add func()
}

func (c countingCategories) List(ctx context.Context, q domain.CategoryQuery) (domain.Page[domain.CategoryInventory], error) {
	c.add()
	return c.Categories.List(ctx, q)
}

func TestPositionOfACountIsReadWithIt(t *testing.T) {
	t.Parallel()
	var s *testServer
	s = newTestServer(t, func(o *apiOptions) {
		add := func() { s.createPets(t, domain.NewPet{Name: "Rex"}) }
		o.Pets, o.Categories = countingPets{o.Pets, add}, countingCategories{o.Categories, add}
	})
	begin := positionOf(t, s.expect(t, get("/v1/pets"), ok(`[]`)))
	for i := range int64(3) { // the animals were added after the requests had read the numbers
		res := s.expect(t, get("/v1/store/inventory"), ok(fmt.Sprintf(`{"available":0,"pending":0,"sold":0,"none":%d,"total":%[1]d}`, 2*i+1)))
		testkit.Equal(t, "the number of changes", 2*i+1, positionOf(t, res)-begin)
		res = s.expect(t, get("/v1/categories"), ok("["+categoryOf(`"id":0`, int(2*i+2))+"]"))
		testkit.Equal(t, "the number of changes", 2*i+2, positionOf(t, res)-begin)
	}
}

// Old changes are removed without a change of any page.
func TestRemovedChangesAreExpired(t *testing.T) {
	t.Parallel()
	s := newTestServer(t)
	begin := positionOf(t, s.expect(t, get("/v1/pets"), ok(`[]`)))
	s.createPets(t, newPets(2500, "")...)
	kept := s.expect(t, get("/v1/changes?limit=1"), ok("")).link(t, "next")
	if want := fmt.Sprintf("/v1/changes?limit=1&after=%d", begin+1); kept != want {
		t.Errorf("got the link %s, want %s", kept, want)
	}
	page := s.expect(t, get("/v1/pets?limit=2"), ok(""))
	s.clock.set(time.Now().Add(8 * 24 * time.Hour))
	check(t, s.changes.RemoveOld(t.Context(), 7*24*time.Hour))
	expired := rejected(410, "changes_expired")
	s.expect(t, get(kept), expired)
	s.expect(t, get(kept, acceptEvents), expired)
	s.expect(t, get("/v1/changes", acceptEvents, fmt.Sprint("Last-Event-ID: ", begin+999)), expired)
	first := fmt.Sprintf("id: %d\nevent: pet.added\n", begin+1001)
	s.stream(t, get(fmt.Sprint("/v1/changes?after=", begin+1000), acceptEvents)).wantEvent(t, first)
	s.stream(t, get("/v1/changes", acceptEvents)).wantEvent(t, first)
	again := s.expect(t, get("/v1/pets?limit=2", "If-None-Match: "+page.Header.Get("ETag")), wantResponse{status: http.StatusNotModified})
	if got := positionOf(t, again); got != begin+2500 {
		t.Errorf("got the position %d, want %d", got, begin+2500)
	}
	s.expect(t, get(fmt.Sprint("/v1/changes?after=", begin+2500)), ok(`[]`))
}
