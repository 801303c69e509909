package http_test

import (
	"context"
	"encoding/json"
	"fmt"
	"math"
	"net/http"
	"net/url"
	"regexp"
	"slices"
	"strconv"
	"sync/atomic"
	"testing"

	"github.com/google/go-cmp/cmp"

	rest "example.com/petstore/delivery/http"
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

func TestUnchangedPageIsNotModified(t *testing.T) {
	t.Parallel()
	s := newTestServer(t)
	s.createPets(t, domain.NewPet{Name: "Rex"}, domain.NewPet{Name: "Tom"})
	page := s.expect(t, get("/v1/pets?limit=2"), ok(""))
	etag := page.Header.Get("ETag")
	for name, header := range map[string]string{
		"ETag": etag, "weak ETag": "W/" + etag, "list of ETags": `"x", ` + etag + `,"y"`, "any": "*",
	} {
		t.Run(name, func(t *testing.T) {
			res := s.expect(t, get("/v1/pets?limit=2", "If-None-Match: "+header), wantResponse{status: http.StatusNotModified})
			if len(res.body) != 0 || res.Header.Get("ETag") != etag {
				t.Errorf("got ETag %q and body %q, want %q and no body", res.Header.Get("ETag"), res.body, etag)
			}
		})
	}
	for _, other := range []string{`"x"`, `"x,*,y"`} {
		s.expect(t, get("/v1/pets?limit=2", "If-None-Match: "+other), ok(string(page.body)))
	}

	// The same body with a next link is another representation.
	s.createPets(t, domain.NewPet{Name: "Kit"})
	s.expect(t, get("/v1/pets?limit=2", "If-None-Match: "+etag), ok("").withHeader(`Link: <?limit=2&after=2>; rel="next"`))
}

func TestWriteInvalidatesCachedPages(t *testing.T) {
	t.Parallel()
	s := newTestServer(t)
	s.expect(t, get("/v1/pets"), ok(`[]`))
	s.createPets(t, domain.NewPet{Name: "Rex", Status: domain.PetAvailable})
	available := `[{"id":1,"name":"Rex","categoryId":0,"status":"available"}]`
	s.expect(t, get("/v1/pets"), ok(available))
	s.expect(t, get("/v1/pets?status=available"), ok(available))
	s.expect(t, get("/v1/pets?status=pending"), ok(`[]`))
	s.expect(t, get("/v1/store/orders"), ok(`[]`))

	s.expect(t, postOrder(`{"petId":1}`), created(""))
	s.expect(t, get("/v1/pets?status=available"), ok(`[]`))
	pending := `[{"id":1,"name":"Rex","categoryId":0,"status":"pending"}]`
	s.expect(t, get("/v1/pets?status=pending"), ok(pending))
	s.expect(t, get("/v1/pets"), ok(pending))
	s.expect(t, get("/v1/store/orders?petId=1&status=placed"), ok(""))
}

// countingPets counts the calls of Pets.List.
type countingPets struct {
	rest.Pets
	calls *atomic.Int32
}

func (p countingPets) List(ctx context.Context, q domain.PetQuery) (domain.Page[domain.Pet], error) {
	p.calls.Add(1)
	return p.Pets.List(ctx, q)
}

func TestPageIsReadAgainOnlyAfterItChanges(t *testing.T) {
	t.Parallel()
	var listCalls atomic.Int32
	s := newTestServer(t, func(o *rest.Options) { o.Pets = countingPets{o.Pets, &listCalls} })
	wantCalls := func(want int32) {
		t.Helper()
		if got := listCalls.Load(); got != want {
			t.Errorf("got %d calls of List, want %d", got, want)
		}
	}
	s.createPets(t, domain.NewPet{Name: "1", Status: domain.PetSold})
	for range 3 { // a rejected order changes nothing
		s.expect(t, get("/v1/pets"), ok(""))
		s.expect(t, postOrder(`{"petId":1}`), rejected(409, "pet_not_available"))
		s.expect(t, postOrder(`{"petId":9}`), rejected(404, "pet_not_found"))
	}
	wantCalls(1)
	s.createPets(t, domain.NewPet{Name: "2"}) // on this page, which is the last one
	s.expect(t, get("/v1/pets"), ok(`[{"id":1,"name":"1","categoryId":0,"status":"sold"},{"id":2,"name":"2","categoryId":0}]`))
	page := s.expect(t, get("/v1/pets?limit=1"), ok(""))
	s.createPets(t, domain.NewPet{Name: "3"}) // after this page, which has a next one
	for _, path := range []string{"/v1/pets?limit=1", "/v1/pets?limit=01&after=0", "/v1/pets?unknown=x&limit=1"} {
		s.expect(t, get(path), ok(string(page.body)))
	}
	wantCalls(3)
	s.expect(t, get("/v1/pets?limit=1&after=1"), ok(`[{"id":2,"name":"2","categoryId":0}]`))
	s.expect(t, postOrder(`{"petId":2}`), created("")) // changes this page, which has a next one
	s.expect(t, get("/v1/pets?limit=1&after=1"), ok(`[{"id":2,"name":"2","categoryId":0,"status":"pending"}]`))
}

// A listed record is a pet or an order of a list.
type listed struct {
	ID, PetID int64
	Status    string
}

// FuzzQuery sends any query to both lists. The page and its link, or the code of the error, are those of
// a second implementation of the documented parameters.
func FuzzQuery(f *testing.F) {
	s := newFuzzServer(f)
	pets, orders := make([]listed, 110), make([]listed, 110)
	for i := range pets {
		id := int64(i + 1)
		pets[i] = listed{ID: id, Status: []string{"", "available", "pending", "sold"}[i%4]}
		orders[i] = listed{ID: id, PetID: []int64{id, id, 2}[i%3], Status: []string{"placed", "delivered", "cancelled"}[i%3]}
		s.createPets(f, newPets(1, domain.PetStatus(pets[i].Status))...)
		s.database.Exec(f, `INSERT INTO orders (pet_id, status, created_at, updated_at) VALUES ($1, $2, $3, $3)`, orders[i].PetID, orders[i].Status, noon.UnixMilli())
	}
	for _, seed := range querySeeds {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, query string) {
		s.checkList(t, "/v1/pets", query, pets, petStatus, false)
		s.checkList(t, "/v1/store/orders", query, orders, orderStatus, true)
	})
}

var querySeeds = []string{
	"", "&", "&&", "offset=5&page=2&x&=y&sort=-id", "x=&x=", "limit=3&x=%3E%22&page=2", "Limit=0&LIMIT=x", // unknown parameters
	"limit=1", "limit=2", "limit=20", "limit=99", "limit=100", "limit=007", "l%69mit=3", "limit=100&after=1", "limit=3&after=3", "limit=3&after=107",
	"limit=0", "limit=101", "limit=-1", "limit=-0", "limit=1000000", "limit=2147483648", "limit=4294967297", "limit=9223372036854775808",
	"limit=99999999999999999999999", "limit=", "limit", "limit=+", "limit=+5", "limit=%2B5", "limit=5.0", "limit=5.", "limit=5e0", "limit=0x10",
	"limit=1_0", "limit=five", "limit=%205", "limit=5%20", "limit=5,6", "limit=٥", "limit=5%00", "limit=[5]", "limit=5&limit=5", "limit=5&limit=",
	"limit=5&l%69mit=6", "l%69mit=0", "after=0", "after=1", "after=5", "after=110", "after=9223372036854775807",
	"after=", "after=-1", "after=-0", "after=-00", "after=-9223372036854775808", "after=9223372036854775808", "after=-9223372036854775809", "after=+1",
	"after=%2B1", "after=1.0", "after=1e3", "after=0x1", "after=1_0", "after=x", "after=--1", "after=1&after=1", "after=1&after=2",
	"status=sold", "status=available&limit=3&after=7", "status=pending", "status=%73old", "status=placed", "status=cancelled&limit=1", "status=delivered",
	"status=", "status", "status=gone", "status=Sold", "status=Placed", "status=sold%20", "status=sold,pending", "status=sold&status=sold",
	"status=sold&status=pending", "status=placed&status=placed", "status='", "status=%ff", "petId=1", "petId=2", "petId=0", "petId=4711",
	"petId=1&limit=1", "petId=2&status=cancelled&limit=1", "petId=", "petId=x", "petId=%2B1", "petId=-1", "petId=-0", "petId=1.0",
	"petId=9223372036854775808", "petId=1&petId=1", "limit=0&status=gone&after=x", // several
	"status=%", "status=%4", "limit=%zz", "x=%zz", "%zz=1", "x=%", "a;b", "limit=5;status=sold", "x=a;b", "%00=1", "\xff", // malformed
}

// checkList checks the response to a query.
func (f fuzzServer) checkList(t *testing.T, path, query string, all []listed, statuses *regexp.Regexp, hasPetID bool) {
	t.Helper()
	w := f.roundTrip(t, http.MethodGet, path, query, "", http.Header{})
	values, err := url.ParseQuery(query)
	if err != nil {
		wantError(t, w, "invalid_parameter", nil)
		return
	}
	var invalid []string
	number := func(name string, smallest, largest, missing int64) int64 {
		texts, given := values[name]
		if !given {
			return missing
		}
		n, err := strconv.ParseInt(texts[0], 10, 64)
		if len(texts) > 1 || !regexp.MustCompile(`^[0-9]+$`).MatchString(texts[0]) || err != nil || n < smallest || n > largest {
			invalid = append(invalid, name)
		}
		return n
	}
	limit, after, petID := number("limit", 1, 100, 20), number("after", 0, math.MaxInt64, 0), int64(-1)
	filters, status := "", values.Get("status")
	if texts := values["status"]; len(texts) > 1 || len(texts) == 1 && !statuses.MatchString(status) {
		invalid = append(invalid, "status")
	} else if status != "" {
		filters = "&status=" + status
	}
	if hasPetID {
		if petID = number("petId", 0, math.MaxInt64, -1); petID >= 0 {
			filters += "&petId=" + strconv.FormatInt(petID, 10)
		}
	}
	if invalid != nil {
		wantError(t, w, "invalid_parameter", invalid)
		return
	}
	want := slices.DeleteFunc(slices.Clone(all), func(r listed) bool {
		return r.ID <= after || status != "" && r.Status != status || petID >= 0 && r.PetID != petID
	})
	link := ""
	if len(want) > int(limit) {
		want = want[:limit]
		link = fmt.Sprintf(`<?limit=%d%s&after=%d>; rel="next"`, limit, filters, want[limit-1].ID)
	}
	var got []listed
	if err := json.Unmarshal(w.Body.Bytes(), &got); w.Code != http.StatusOK || err != nil {
		t.Fatalf("%q: got %d %s, want a page", query, w.Code, w.Body)
	}
	if diff := cmp.Diff(want, got); diff != "" || w.Header().Get("Link") != link {
		t.Fatalf("%s?%q: got Link %q, want %q; page (-want +got):\n%s", path, query, w.Header().Get("Link"), link, diff)
	}
}

var (
	petStatus   = regexp.MustCompile(`^(available|pending|sold)$`)
	orderStatus = regexp.MustCompile(`^(placed|delivered|cancelled)$`)
)
