package http_test

import (
	"context"
	"fmt"
	"math"
	"net/http"
	"regexp"
	"strconv"
	"strings"
	"testing"

	rest "example.com/petstore/delivery/http"
	"example.com/petstore/domain"
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
	s = newTestServer(t, func(o *rest.Options) {
		o.Pets = addingPets{o.Pets, func() { s.createPets(t, domain.NewPet{Name: "Rex"}) }}
	})
	before := positionOf(t, s.expect(t, get("/v1/store/orders"), ok(`[]`)))
	if got := positionOf(t, s.expect(t, get("/v1/pets"), ok(`[]`))); got != before {
		t.Errorf("got the position %d, want %d: the page lacks the animal of the next change", got, before)
	}
}
