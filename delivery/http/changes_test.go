package http_test

import (
	"context"
	"errors"
	"fmt"
	"math"
	"net/http"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

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

// changeOf returns the JSON of a change. Its time is replaced.
func changeOf(seq int64, kind, record string) string {
	return fmt.Sprintf(`{"seq":%d,"type":"%s","at":"TIME",%s}`, seq, kind, record)
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
	all := []string{
		changeOf(begin+1, "pet.added", fmt.Sprintf(rex, "available")),
		changeOf(begin+2, "pet.added", `"pet":{"id":2,"name":"Tom","categoryId":0}`),
		changeOf(begin+3, "pet.updated", fmt.Sprintf(rex, "pending")),
		changeOf(begin+4, "order.placed", fmt.Sprintf(order, "placed")),
		changeOf(begin+5, "order.delivered", fmt.Sprintf(order, "delivered")),
		changeOf(begin+6, "pet.updated", fmt.Sprintf(rex, "sold")),
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

func TestChangesMayNotBeRecorded(t *testing.T) {
	t.Parallel()
	s := newTestServer(t, func(o *rest.Options) { o.Changes = nil })
	s.expect(t, get("/v1/changes"), rejected(404, "not_found", "this service does not record changes"))
	s.expectOnly(t, get("/v1/pets"), ok(`[]`).withHeader("-Changes-Position"))

	s = newTestServer(t)
	s.database.Exec(t, "UPDATE recording SET active = 0")
	s.expect(t, get("/v1/changes"), rejected(503, "unavailable"))
	for range 2 {
		s.expectOnly(t, get("/v1/pets"), ok(`[]`).withHeader("-Changes-Position"))
	}
	s.database.Exec(t, "UPDATE recording SET active = 1") // the page without a position is not cached
	before := positionOf(t, s.expect(t, get("/v1/pets"), ok(`[]`)))
	_, endErr := s.changes.End(t.Context()) // a page with a position of an earlier recording is not used either
	_, beginErr := s.changes.Begin(t.Context())
	check(t, errors.Join(endErr, beginErr))
	if after := positionOf(t, s.expect(t, get("/v1/pets"), ok(`[]`))); after <= before {
		t.Errorf("the position was %d, and is %d", before, after)
	}
}

// TestCachedPageGetsANewPositionWhenItsOwnIsRemoved lets the clock jump ahead, so that the changes after the position of a
// cached page are removed. The page must then be sent with a newer position, after which a follower can
// read.
func TestCachedPageGetsANewPositionWhenItsOwnIsRemoved(t *testing.T) {
	t.Parallel()
	s := newTestServer(t)
	s.createPets(t, newPets(3, "")...)
	before := positionOf(t, s.expect(t, get("/v1/pets?limit=2"), ok("")))
	s.createPets(t, newPets(2500, "")...)
	s.clock.set(time.Now().Add(8 * 24 * time.Hour))
	check(t, s.changes.RemoveOld(t.Context(), 7*24*time.Hour))
	s.expect(t, get(fmt.Sprint("/v1/changes?after=", before)), rejected(410, "changes_expired"))
	after := positionOf(t, s.expect(t, get("/v1/pets?limit=2"), ok("")))
	s.expect(t, get(fmt.Sprint("/v1/changes?after=", after)), ok(`[]`))
}

// TestPositionIsNotAfterThePage expects that a page includes all changes up to its position. It may include
// later ones.
func TestPositionIsNotAfterThePage(t *testing.T) {
	t.Parallel()
	s := newTestServer(t)
	s.createPets(t, newPets(3, "")...)
	cached := s.expect(t, get("/v1/pets?limit=2"), ok(""))
	s.createPets(t, domain.NewPet{Name: "Tom"}) // this animal is not on the page, which stays in the cache
	again := s.expect(t, get("/v1/pets?limit=2", "If-None-Match: "+cached.Header.Get("ETag")), wantResponse{status: http.StatusNotModified})
	last := s.expect(t, get("/v1/pets?limit=2&after=2"), ok(""))
	orders := s.expect(t, get("/v1/store/orders"), ok(`[]`))
	got := []int64{positionOf(t, again), positionOf(t, last), positionOf(t, orders)}
	if first := positionOf(t, cached); !slices.Equal(got, []int64{first, first + 1, first + 1}) {
		t.Errorf("got the positions %d after %d, want that of the cached page, and two that follow it", got, first)
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
