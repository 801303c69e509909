package http_test

import (
	"fmt"
	"regexp"
	"testing"
)

func TestNewPetIsAtItsLocation(t *testing.T) {
	t.Parallel()
	s := newTestServer(t)
	for id := 1; id <= 3; id++ {
		pet := fmt.Sprintf(`{"id":%d,"name":"Rex","categoryId":7,"status":"available"}`, id)
		a := s.expect(t, post(`{"name":"Rex","categoryId":7,"status":"available"}`), created(pet).with("-Idempotency-Replayed"))
		if location := a.Header.Get("Location"); !regexp.MustCompile(fmt.Sprintf(`pets/%d$`, id)).MatchString(location) {
			t.Errorf("got the location %q, want …/pets/%d", location, id)
		}
		location, err := a.Location() // resolved against the request
		if err != nil {
			t.Fatal(err)
		}
		s.expect(t, get(location.RequestURI()), ok(pet))
	}
}

func TestRefusedPetIsNotAdded(t *testing.T) {
	t.Parallel()
	s := newTestServer(t)
	for _, r := range []request{
		post(`{"name":"","categoryId":7}`), post(`{`), post(`{"name":"Rex","categoryId":7}`, "-Content-Type"),
		post(`{"name":"Rex","categoryId":7}`, "-Authorization"), post(`{"name":"Rex","categoryId":7}`, "Idempotency-Key: "),
	} {
		s.expect(t, r, want{}.with("-Location"))
	}
	s.expect(t, get("/v1/pets"), ok(`[]`))
	s.expect(t, post(`{"name":"Rex","categoryId":7}`), created(`{"id":1,"name":"Rex","categoryId":7}`))
}

func TestStatusLeftOutStaysAbsent(t *testing.T) {
	t.Parallel()
	s := newTestServer(t)
	s.expect(t, post(`{"name":"Rex","categoryId":7}`), created("").without("status", "null"))
	s.expect(t, get("/v1/pets/1"), ok("").without("status", "null"))
	s.expect(t, get("/v1/pets"), ok("").without("status", "null"))
	for _, status := range []string{"available", "pending", "sold"} {
		s.expect(t, get("/v1/pets?status="+status), ok(`[]`))
	}
}

func TestUnknownPetIsNotFound(t *testing.T) {
	t.Parallel()
	s := newTestServer(t)
	s.expect(t, get("/v1/pets/1"), refused(404, "pet_not_found"))
	s.stock(t, pets(1, "")...)
	s.expect(t, get("/v1/pets/1"), ok(`{"id":1,"name":"Rex","categoryId":7}`))
	s.expect(t, get("/v1/pets/2"), refused(404, "pet_not_found", "2"))
}
