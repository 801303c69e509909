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
	"sync/atomic"
	"testing"

	"github.com/gin-gonic/gin"
	"github.com/google/go-cmp/cmp"
	"github.com/prometheus/client_golang/prometheus"
	"go.uber.org/zap"

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

func TestLinkIsRelativeAndKeepsLimitAndFilters(t *testing.T) {
	t.Parallel()
	s := newTestServer(t)
	s.createPets(t, newPets(101, "sold")...)
	s.insertOrders(t, 3)
	for _, tc := range []struct {
		path    string
		records int
		link    string
	}{
		{"/v1/pets", 20, `Link: <?limit=20&after=20>; rel="next"`},
		{"/v1/pets?limit=1", 1, `Link: <?limit=1&after=1>; rel="next"`},
		{"/v1/pets?limit=100", 100, `Link: <?limit=100&after=100>; rel="next"`},
		{"/v1/pets?limit=3&after=3", 3, `Link: <?limit=3&after=6>; rel="next"`},
		{"/v1/pets?status=sold", 20, `Link: <?limit=20&status=sold&after=20>; rel="next"`},
		{"/v1/pets?limit=3&x=%3E%22&page=2", 3, `Link: <?limit=3&after=3>; rel="next"`},
		{"/v1/pets?limit=3&after=98", 3, "-Link"},
		{"/v1/pets?limit=100&after=1", 100, "-Link"},
		{"/v1/pets?after=101", 0, "-Link"},
		{"/v1/store/orders?limit=2", 2, `Link: <?limit=2&after=2>; rel="next"`},
	} {
		if got := len(s.expect(t, get(tc.path), ok("").withHeader(tc.link)).ids(t)); got != tc.records {
			t.Errorf("%s: got %d records, want %d", tc.path, got, tc.records)
		}
		s.expect(t, newRequest("HEAD", tc.path), ok("").withHeader(tc.link))
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

func TestPageIsReadAgainOnlyAfterItChanges(t *testing.T) {
	t.Parallel()
	var listCalls atomic.Int32
	s := newTestServer(t, withListCount(&listCalls))
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

func TestPageHasContentLength(t *testing.T) {
	t.Parallel()
	s := newTestServer(t)
	s.createPets(t, slices.Repeat([]domain.NewPet{{Name: "Rex"}}, 100)...)
	for _, path := range []string{"/v1/pets?limit=1", "/v1/pets?limit=100"} {
		res := s.expect(t, get(path), ok(""))
		if res.ContentLength != int64(len(res.body)) {
			t.Errorf("%s: got Content-Length %d, want %d", path, res.ContentLength, len(res.body))
		}
	}
}

// BenchmarkList compares a cached page of 20 pets with a Gin handler that writes a body of
// about the same size, without a network.
func BenchmarkList(b *testing.B) {
	s := newUnstartedServer(b)
	pets := make([]domain.NewPet, 100)
	for i := range pets {
		pets[i] = domain.NewPet{Name: fmt.Sprintf("Rex %d", i), CategoryID: 7, Status: domain.PetAvailable}
	}
	s.createPets(b, pets...)
	s.logger = zap.NewNop()
	engine := s.engine(b, nil, withMetrics(prometheus.NewRegistry()))
	request, err := http.NewRequestWithContext(b.Context(), http.MethodGet, "/v1/pets", http.NoBody)
	if err != nil {
		b.Fatal(err)
	}
	request.Header.Set("Authorization", "Bearer "+s.key)
	request.RemoteAddr = "127.0.0.1:1"

	b.Run("petstore", func(b *testing.B) { benchmarkHandler(b, engine, request) })
	b.Run("gin", func(b *testing.B) {
		bare := gin.New()
		body := make([]byte, 1500)
		bare.GET("/v1/pets", func(c *gin.Context) { c.Data(http.StatusOK, "application/json", body) })
		benchmarkHandler(b, bare, request)
	})
}

func benchmarkHandler(b *testing.B, handler http.Handler, request *http.Request) {
	b.Helper()
	b.ReportAllocs()
	for b.Loop() {
		w := &discardWriter{header: http.Header{}}
		handler.ServeHTTP(w, request)
		if w.status != http.StatusOK {
			b.Fatalf("got status %d, want 200", w.status)
		}
	}
}

// A discardWriter is an http.ResponseWriter that discards the body.
type discardWriter struct {
	header http.Header
	status int
}

func (w *discardWriter) Header() http.Header         { return w.header }
func (w *discardWriter) WriteHeader(status int)      { w.status = status }
func (w *discardWriter) Write(p []byte) (int, error) { return len(p), nil }
