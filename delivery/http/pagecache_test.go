package http_test

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"slices"
	"strconv"
	"sync"
	"sync/atomic"
	"testing"

	rest "example.com/petstore/delivery/http"
	"example.com/petstore/domain"
)

func TestUnchangedPageIsNotSentAgain(t *testing.T) {
	t.Parallel()
	s := newTestServer(t)
	s.stock(t, domain.NewPet{Name: "Rex"}, domain.NewPet{Name: "Tom"})
	first := s.expect(t, get("/v1/pets?limit=2"), want{status: http.StatusOK})
	tag := first.Header.Get("ETag")
	for rule, header := range map[string]string{
		"the tag": tag, "weakly": "W/" + tag, "among others": `"x", ` + tag + `,"y"`, "any": "*",
	} {
		t.Run(rule, func(t *testing.T) {
			a := s.expect(t, get("/v1/pets?limit=2", "If-None-Match: "+header), want{status: http.StatusNotModified})
			if len(a.body) != 0 || a.Header.Get("ETag") != tag {
				t.Errorf("got the tag %q and the body %q", a.Header.Get("ETag"), a.body)
			}
		})
	}
	for _, other := range []string{`"x"`, `"x,*,y"`} {
		s.expect(t, get("/v1/pets?limit=2", "If-None-Match: "+other), want{status: http.StatusOK, body: string(first.body)})
	}

	// The body stays, but now a next page follows: the client must learn of it.
	s.stock(t, domain.NewPet{Name: "Kit"})
	s.expect(t, get("/v1/pets?limit=2", "If-None-Match: "+tag), want{
		status: http.StatusOK, header: []string{`Link: <?limit=2&after=2>; rel="next"`},
	})
}

func TestPageFollowsEveryWrite(t *testing.T) {
	t.Parallel()
	s := newTestServer(t)
	s.expect(t, get("/v1/pets"), want{status: http.StatusOK, body: `[]`})
	s.stock(t, domain.NewPet{Name: "Rex", Status: domain.PetAvailable})
	available := `[{"id":1,"name":"Rex","categoryId":0,"status":"available"}]`
	s.expect(t, get("/v1/pets"), want{status: http.StatusOK, body: available})
	s.expect(t, get("/v1/pets?status=available"), want{status: http.StatusOK, body: available})
	s.expect(t, get("/v1/pets?status=pending"), want{status: http.StatusOK, body: `[]`})
	s.expect(t, get("/v1/store/orders"), want{status: http.StatusOK, body: `[]`})

	s.expect(t, request{method: http.MethodPost, path: "/v1/store/orders", body: `{"petId":1}`}, want{status: http.StatusCreated})
	s.expect(t, get("/v1/pets?status=available"), want{status: http.StatusOK, body: `[]`})
	pending := `[{"id":1,"name":"Rex","categoryId":0,"status":"pending"}]`
	s.expect(t, get("/v1/pets?status=pending"), want{status: http.StatusOK, body: pending})
	s.expect(t, get("/v1/pets"), want{status: http.StatusOK, body: pending})
	s.expect(t, get("/v1/store/orders?petId=1&status=placed"), want{status: http.StatusOK})
}

// countedPets counts how often the lists are read from the store.
type countedPets struct {
	rest.Pets
	reads *atomic.Int32
}

func (p countedPets) List(ctx context.Context, q domain.PetQuery) (domain.Page[domain.Pet], error) {
	p.reads.Add(1)
	return p.Pets.List(ctx, q)
}

func TestPageWithANextOneOutlivesInserts(t *testing.T) {
	t.Parallel()
	var reads atomic.Int32
	s := newTestServerWith(t, func(services *rest.Services) { services.Pets = countedPets{services.Pets, &reads} })
	s.stock(t, domain.NewPet{Name: "1"}, domain.NewPet{Name: "2"})
	kept := s.expect(t, get("/v1/pets?limit=1"), want{status: http.StatusOK})
	s.stock(t, domain.NewPet{Name: "3"})
	for _, path := range []string{"/v1/pets?limit=1", "/v1/pets?limit=01&after=0", "/v1/pets?unknown=x&limit=1"} {
		s.expect(t, get(path), want{status: http.StatusOK, body: string(kept.body)})
	}
	if got := reads.Load(); got != 1 {
		t.Errorf("the page was read %d times, want once", got)
	}
}

func TestRefusedActsLeavePagesKept(t *testing.T) {
	t.Parallel()
	var reads atomic.Int32
	s := newTestServerWith(t, func(services *rest.Services) { services.Pets = countedPets{services.Pets, &reads} })
	s.stock(t, domain.NewPet{Name: "1", Status: domain.PetSold})
	for range 3 {
		s.expect(t, get("/v1/pets"), want{status: http.StatusOK})
		s.expect(t, request{method: http.MethodPost, path: "/v1/store/orders", body: `{"petId":1}`}, refused(409, "pet_not_available"))
		s.expect(t, request{method: http.MethodPost, path: "/v1/store/orders", body: `{"petId":9}`}, refused(404, "pet_not_found"))
	}
	if got := reads.Load(); got != 1 {
		t.Errorf("the page was read %d times, want once", got)
	}
}

func TestLastPageDoesNotOutliveInserts(t *testing.T) {
	t.Parallel()
	var reads atomic.Int32
	s := newTestServerWith(t, func(services *rest.Services) { services.Pets = countedPets{services.Pets, &reads} })
	s.stock(t, domain.NewPet{Name: "1"})
	for range 3 {
		s.expect(t, get("/v1/pets"), want{status: http.StatusOK})
	}
	if got := reads.Load(); got != 1 {
		t.Errorf("the page was read %d times, want once", got)
	}
	s.stock(t, domain.NewPet{Name: "2"})
	s.expect(t, get("/v1/pets"), want{status: http.StatusOK, body: `[{"id":1,"name":"1","categoryId":0},{"id":2,"name":"2","categoryId":0}]`})
}

func TestNobodyMissesWhatA201Promised(t *testing.T) {
	t.Parallel()
	const writers, each = 16, 20
	s := newTestServer(t)
	var wait sync.WaitGroup
	for writer := range writers {
		wait.Go(func() {
			for i := range each {
				name := fmt.Sprintf("%d-%d", writer, i)
				if err := s.addAndFind(t.Context(), name); err != nil {
					t.Errorf("%s: %v", name, err)
					return
				}
			}
		})
	}
	wait.Wait()
}

// addAndFind adds a pet and expects it in the very next list.
func (s *testServer) addAndFind(ctx context.Context, name string) error {
	added, err := s.send(ctx, post(`{"name":`+strconv.Quote(name)+`,"categoryId":1}`))
	if err != nil || added.StatusCode != http.StatusCreated {
		return fmt.Errorf("added: %s %w", added.body, err)
	}
	var pet struct{ ID int64 }
	if err := json.Unmarshal(added.body, &pet); err != nil {
		return err
	}
	list, err := s.send(ctx, get(fmt.Sprintf("/v1/pets?limit=100&after=%d", (pet.ID-1)/100*100)))
	if err != nil {
		return err
	}
	var pets []struct{ ID int64 }
	if err := json.Unmarshal(list.body, &pets); err != nil {
		return err
	}
	for _, found := range pets {
		if found.ID == pet.ID {
			return nil
		}
	}
	return fmt.Errorf("the pet %d is not in the list after its 201", pet.ID)
}

func TestPageTellsItsLength(t *testing.T) {
	t.Parallel()
	s := newTestServer(t)
	s.stock(t, slices.Repeat([]domain.NewPet{{Name: "Rex"}}, 100)...)
	for _, path := range []string{"/v1/pets?limit=1", "/v1/pets?limit=100"} {
		a := s.expect(t, get(path), want{status: http.StatusOK})
		if a.ContentLength != int64(len(a.body)) {
			t.Errorf("%s: %d bytes came in place of %d", path, len(a.body), a.ContentLength)
		}
	}
}
