package http_test

import (
	"net/http"
	"slices"
	"sync/atomic"
	"testing"

	"example.com/petstore/domain"
)

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

func TestInsertKeepsCachedPageWithNextPage(t *testing.T) {
	t.Parallel()
	var listCalls atomic.Int32
	s := newTestServer(t, withListCount(&listCalls))
	s.createPets(t, domain.NewPet{Name: "1"}, domain.NewPet{Name: "2"})
	page := s.expect(t, get("/v1/pets?limit=1"), ok(""))
	s.createPets(t, domain.NewPet{Name: "3"})
	for _, path := range []string{"/v1/pets?limit=1", "/v1/pets?limit=01&after=0", "/v1/pets?unknown=x&limit=1"} {
		s.expect(t, get(path), ok(string(page.body)))
	}
	if got := listCalls.Load(); got != 1 {
		t.Errorf("got %d calls of List, want 1", got)
	}
}

func TestRejectedOrderKeepsCachedPages(t *testing.T) {
	t.Parallel()
	var listCalls atomic.Int32
	s := newTestServer(t, withListCount(&listCalls))
	s.createPets(t, domain.NewPet{Name: "1", Status: domain.PetSold})
	for range 3 {
		s.expect(t, get("/v1/pets"), ok(""))
		s.expect(t, postOrder(`{"petId":1}`), rejected(409, "pet_not_available"))
		s.expect(t, postOrder(`{"petId":9}`), rejected(404, "pet_not_found"))
	}
	if got := listCalls.Load(); got != 1 {
		t.Errorf("got %d calls of List, want 1", got)
	}
}

func TestInsertInvalidatesCachedLastPage(t *testing.T) {
	t.Parallel()
	var listCalls atomic.Int32
	s := newTestServer(t, withListCount(&listCalls))
	s.createPets(t, domain.NewPet{Name: "1"})
	for range 3 {
		s.expect(t, get("/v1/pets"), ok(""))
	}
	if got := listCalls.Load(); got != 1 {
		t.Errorf("got %d calls of List, want 1", got)
	}
	s.createPets(t, domain.NewPet{Name: "2"})
	s.expect(t, get("/v1/pets"), ok(`[{"id":1,"name":"1","categoryId":0},{"id":2,"name":"2","categoryId":0}]`))
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
