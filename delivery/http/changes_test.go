package http_test

import (
	"context"
	"encoding/json"
	"fmt"
	"math"
	"net/http"
	"strconv"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	rest "example.com/petstore/delivery/http"
	"example.com/petstore/domain"
)

// A change is the JSON of a change.
type change struct {
	Seq   int64     `json:"seq"`
	Type  string    `json:"type"`
	At    time.Time `json:"at"`
	Pet   any       `json:"pet"`
	Order any       `json:"order"`
}

// positionOf returns the header Changes-Position.
func positionOf(t *testing.T, res response) int64 {
	t.Helper()
	position, err := strconv.ParseInt(res.Header.Get("Changes-Position"), 10, 64)
	if err != nil || position <= 0 {
		t.Fatalf("%s: got Changes-Position %q", res.name(), res.Header.Get("Changes-Position"))
	}
	return position
}

func TestChangesAreListedInPages(t *testing.T) {
	t.Parallel()
	s := newTestServer(t)
	begin := positionOf(t, s.expect(t, get("/v1/pets"), ok(`[]`)))
	s.expect(t, get("/v1/changes"), ok(`[]`).withHeader(fmt.Sprintf(`Link: <?limit=20&after=%d>; rel="next"`, begin)))
	s.createPets(t, domain.NewPet{Name: "Rex <1>", CategoryID: math.MinInt64, Status: domain.PetAvailable}, domain.NewPet{Name: "Tom"})
	s.expect(t, postOrder(`{"petId":1}`), created(""))
	s.expect(t, newRequest(http.MethodPost, "/v1/store/orders/1/deliver"), ok(""))
	order := `{"id":1,"petId":1,"status":"%s","createdAt":"2026-11-20T12:00:00.000Z","updatedAt":"2026-11-20T12:00:00.000Z"}`
	rex := `{"id":1,"name":"Rex <1>","categoryId":-9223372036854775808,"status":"%s"}`
	want := []struct{ kind, record string }{
		{"pet.added", `"pet":` + fmt.Sprintf(rex, "available")},
		{"pet.added", `"pet":{"id":2,"name":"Tom","categoryId":0}`},
		{"pet.updated", `"pet":` + fmt.Sprintf(rex, "pending")},
		{"order.placed", `"order":` + fmt.Sprintf(order, "placed")},
		{"order.delivered", `"order":` + fmt.Sprintf(order, "delivered")},
		{"pet.updated", `"pet":` + fmt.Sprintf(rex, "sold")},
	}
	path, n := fmt.Sprintf("/v1/changes?limit=4&after=%d", begin), 0
	for _, size := range []int{4, 2, 0, 0} {
		res := s.expect(t, get(path), ok(""))
		got := decode[[]change](t, res.body)
		if len(got) != size {
			t.Fatalf("%s: got %s, want %d changes", path, res.body, size)
		}
		var body string
		for i, c := range got {
			if i > 0 {
				body += ","
			}
			body += fmt.Sprintf(`{"seq":%d,"type":"%s","at":"%s",%s}`, begin+int64(n+i+1), want[n+i].kind, c.At.Format("2006-01-02T15:04:05.000Z"), want[n+i].record)
		}
		if body = "[" + body + "]"; string(res.body) != body {
			t.Errorf("%s: got\n%s, want\n%s", path, res.body, body)
		}
		n += size
		path = fmt.Sprintf("/v1/changes?limit=4&after=%d", begin+int64(n))
		if link := res.link(t, "next"); link != path {
			t.Errorf("got the link %s, want %s", link, path)
		}
	}
	if first := decode[[]change](t, s.expect(t, get("/v1/changes?limit=1"), ok("")).body); first[0].Seq != begin+1 {
		t.Errorf("got %v, want the oldest change", first)
	}
	for query, message := range map[string]string{
		"after=-1": "after must be at least 0", "after=x": "after must be a 64-bit integer", "after=": "after must not be empty", "after=1&after=2": "after must be given once",
		"limit=0": "limit must be at least 1", "limit=101&after=x": "limit must be at most 100",
	} {
		s.expect(t, get("/v1/changes?"+query), rejected(400, "invalid_parameter", message))
		s.expect(t, get("/v1/changes?"+query, "Accept: text/event-stream"), rejected(400, "invalid_parameter", message))
	}
	for _, after := range []int64{1, begin - 1, begin + int64(n) + 1, math.MaxInt64} {
		path := fmt.Sprintf("/v1/changes?after=%d", after)
		message := fmt.Sprintf("the changes after %d are not known: read the lists again, then the changes after their Changes-Position", after)
		s.expect(t, get(path), rejected(410, "changes_expired", message))
		s.expect(t, get(path, "Accept: text/event-stream"), rejected(410, "changes_expired", message))
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
	if _, err := s.changes.End(t.Context()); err != nil { // nor is one used with the position of an earlier recording
		t.Fatal(err)
	}
	if err := s.changes.Begin(t.Context()); err != nil {
		t.Fatal(err)
	}
	if after := positionOf(t, s.expect(t, get("/v1/pets"), ok(`[]`))); after <= before {
		t.Errorf("the position was %d, and is %d", before, after)
	}
}

// TestPositionIsNotAfterThePage: a change after the position may be on the page, one before it must be.
func TestPositionIsNotAfterThePage(t *testing.T) {
	t.Parallel()
	s := newTestServer(t)
	s.createPets(t, newPets(3, "")...)
	cached := s.expect(t, get("/v1/pets?limit=2"), ok(""))
	s.createPets(t, domain.NewPet{Name: "Tom"}) // is not on the page, which stays in the cache
	again := s.expect(t, get("/v1/pets?limit=2", "If-None-Match: "+cached.Header.Get("ETag")), wantResponse{status: http.StatusNotModified})
	if positionOf(t, again) != positionOf(t, cached) {
		t.Errorf("the position was %d, and is %d", positionOf(t, cached), positionOf(t, again))
	}
	last := s.expect(t, get("/v1/pets?limit=2&after=2"), ok(""))
	if diff := cmp.Diff(positionOf(t, cached)+1, positionOf(t, last)); diff != "" {
		t.Error(diff)
	}
	if got := positionOf(t, s.expect(t, get("/v1/store/orders"), ok(`[]`))); got != positionOf(t, last) {
		t.Errorf("orders: got the position %d, want %d", got, positionOf(t, last))
	}
}

func decode[T any](t *testing.T, body []byte) (value T) {
	t.Helper()
	if err := json.Unmarshal(body, &value); err != nil {
		t.Fatalf("%s: %v", body, err)
	}
	return value
}

// addingPets adds an animal after each page that it reads.
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
