package http_test

import (
	"fmt"
	"net/http"
	"strings"
	"sync"
	"testing"
	"time"

	"example.com/petstore/domain"
)

func place(body string, header ...string) request {
	return request{method: http.MethodPost, path: "/v1/store/orders", header: header, body: body}
}

func end(id int, act string) request {
	return send(http.MethodPost, fmt.Sprintf("/v1/store/orders/%d/%s", id, act))
}

const afternoon = `"createdAt":"2026-11-20T12:00:00.000Z","updatedAt":"2026-11-20T13:00:00.007Z"`

func TestOrderMovesWithItsPet(t *testing.T) {
	t.Parallel()
	for act, becomes := range map[string]struct{ order, pet string }{
		"deliver": {"delivered", "sold"}, "cancel": {"cancelled", "available"},
	} {
		for _, before := range []domain.PetStatus{"available", ""} {
			t.Run(act+" "+string(before), func(t *testing.T) {
				t.Parallel()
				s := newTestServer(t)
				s.stock(t, pets(1, before)...)
				placed := `{"id":1,"petId":1,"status":"placed","createdAt":"2026-11-20T12:00:00.000Z","updatedAt":"2026-11-20T12:00:00.000Z"}`
				a := s.expect(t, place(`{"petId":1}`), created(placed))
				location, err := a.Location()
				if err != nil {
					t.Fatal(err)
				}
				s.expect(t, get(location.Path), ok(placed))
				s.expect(t, get("/v1/pets?status=pending"), ok(`[{"id":1,"name":"Rex","categoryId":7,"status":"pending"}]`))

				s.clock.set(noon.Add(time.Hour + 7*time.Millisecond))
				ended := fmt.Sprintf(`{"id":1,"petId":1,"status":%q,%s}`, becomes.order, afternoon)
				s.expect(t, end(1, act), ok(ended))
				s.expect(t, get("/v1/pets/1"), ok(fmt.Sprintf(`{"id":1,"name":"Rex","categoryId":7,"status":%q}`, becomes.pet)))

				s.clock.advance(time.Hour)
				s.expect(t, end(1, act), ok(ended)) // what is done is not done again
				s.expect(t, end(1, map[string]string{"deliver": "cancel", "cancel": "deliver"}[act]), refused(409, "order_state_conflict"))
				s.expect(t, get("/v1/store/orders/1"), ok(ended))
				s.expect(t, get("/v1/store/orders"), ok(`[`+ended+`]`))
				s.expect(t, get("/v1/pets/1"), ok(fmt.Sprintf(`{"id":1,"name":"Rex","categoryId":7,"status":%q}`, becomes.pet)))
			})
		}
	}
}

func TestOnlyAPetThatIsToBeHadCanBeOrdered(t *testing.T) {
	t.Parallel()
	s := newTestServer(t)
	for _, status := range []domain.PetStatus{"pending", "sold", "available"} {
		s.stock(t, pets(1, status)...)
	}
	s.expect(t, place(`{"petId":1}`), refused(409, "pet_not_available", "1"))
	s.expect(t, place(`{"petId":2}`), refused(409, "pet_not_available", "2"))
	s.expect(t, place(`{"petId":4}`), refused(404, "pet_not_found", "4"))
	s.expect(t, place(`{"petId":-9223372036854775808}`), refused(404, "pet_not_found"))
	s.expect(t, place(`{"petId":3}`), created(""))
	s.expect(t, place(`{"petId":3}`), refused(409, "pet_not_available"))
	s.expect(t, end(1, "cancel"), ok(""))
	s.expect(t, place(`{"petId":3}`), created(""))
	s.expect(t, end(2, "deliver"), ok(""))
	s.expect(t, place(`{"petId":3}`), refused(409, "pet_not_available"))
}

func TestBodyOfAnOrder(t *testing.T) {
	t.Parallel()
	s := newTestServer(t)
	invalid := refused(400, "validation_failed", "petId")
	s.run(t, []testCase{
		{"no pet", place(`{}`), invalid},
		{"pet in another case", place(`{"petID":1}`), invalid},
		{"pet null", place(`{"petId":null}`), invalid},
		{"pet a string", place(`{"petId":"1"}`), invalid},
		{"pet with a fraction", place(`{"petId":1.0}`), invalid},
		{"pet beyond an int64", place(`{"petId":9223372036854775808}`), invalid},
		{"no JSON", place(`{"petId":1`), refused(400, "invalid_json")},
		{"pet twice", place(`{"petId":1,"petId":2}`), refused(400, "invalid_json")},
		{"too large", place(`{"x":"` + strings.Repeat("x", 64<<10) + `"}`), refused(413, "body_too_large")},
		{"no media type", place(`{"petId":1}`, "-Content-Type"), refused(415, "unsupported_media_type")},
		{"bad idempotency key before state", place(`{"petId":1}`, `Idempotency-Key: ""`), refused(400, "invalid_idempotency_key")},
	})
}

func TestUnknownOrderIsNotFound(t *testing.T) {
	t.Parallel()
	s := newTestServer(t)
	for _, id := range []string{"1", "0", "-1", "one", "+1", "1.0", "9223372036854775808", "%20"} {
		s.expect(t, get("/v1/store/orders/"+id), refused(404, "order_not_found"))
		s.expect(t, send("POST", "/v1/store/orders/"+id+"/deliver"), refused(404, "order_not_found"))
		s.expect(t, send("POST", "/v1/store/orders/"+id+"/cancel"), refused(404, "order_not_found"))
	}
}

func TestOrdersAreFilteredByStatusAndPet(t *testing.T) {
	t.Parallel()
	s := newTestServer(t)
	s.stock(t, pets(3, "available")...)
	for _, r := range []request{
		place(`{"petId":1}`), end(1, "cancel"), place(`{"petId":1}`), end(2, "cancel"), place(`{"petId":1}`), end(3, "deliver"), place(`{"petId":2}`),
	} {
		s.expect(t, r, want{})
	}
	for query, ids := range map[string]string{
		"": "[[1 2 3 4]]", "status=cancelled": "[[1 2]]", "status=delivered": "[[3]]", "status=placed": "[[4]]", "petId=1": "[[1 2 3]]", "petId=2": "[[4]]",
		"petId=3": "[[]]", "petId=0": "[[]]", "petId=-1": "[[]]", "petId=1&status=cancelled&limit=1": "[[1] [2]]", "petId=1&limit=2": "[[1 2] [3]]",
	} {
		if got := fmt.Sprint(s.walk(t, "/v1/store/orders?"+query)); got != ids {
			t.Errorf("%q: got %s, want %s", query, got, ids)
		}
	}
	s.expect(t, get("/v1/store/orders?petId=1&status=cancelled&limit=1"), ok("").with(`Link: <?limit=1&status=cancelled&petId=1&after=1>; rel="next"`))
	for _, query := range []string{"status=", "status=sold", "status=Placed", "status=placed&status=placed"} {
		s.expect(t, get("/v1/store/orders?"+query), refused(400, "invalid_parameter", "status"))
	}
	for _, query := range []string{"petId=", "petId=x", "petId=%2B1", "petId=1.0", "petId=9223372036854775808", "petId=1&petId=1"} {
		s.expect(t, get("/v1/store/orders?"+query), refused(400, "invalid_parameter", "petId"))
	}
}

func TestOrderIsPlacedOncePerIdempotencyKey(t *testing.T) {
	t.Parallel()
	s := newTestServer(t)
	s.stock(t, pets(2, "available")...)
	const one = "Idempotency-Key: one"
	s.expect(t, place(`{"petId":3}`, one), refused(404, "pet_not_found"))
	s.expect(t, place(`{"petId":1}`, one), created("").with(first))
	s.expect(t, end(1, "cancel"), ok(""))
	s.expect(t, place(`{"petId":1}`, one), created(`{
		"id":1,"petId":1,"status":"placed","createdAt":"2026-11-20T12:00:00.000Z","updatedAt":"2026-11-20T12:00:00.000Z"
	}`).with(again, "Location: ./orders/1"))
	s.expect(t, place(`{"petId":2}`, one), refused(422, "idempotency_key_reused"))
	s.expect(t, post(newRex, one), refused(422, "idempotency_key_reused"))
	s.expect(t, get("/v1/pets?status=pending"), ok(`[]`))
}

// count sends requests at once and counts their answers by status.
func (s *testServer) count(t *testing.T, requests ...request) map[int]int {
	t.Helper()
	answers := make([]answer, len(requests))
	var wait sync.WaitGroup
	for i, r := range requests {
		wait.Go(func() {
			var err error
			if answers[i], err = s.send(t.Context(), r); err != nil {
				t.Error(err)
			}
		})
	}
	wait.Wait()
	statuses := map[int]int{}
	for _, a := range answers {
		if a.Response != nil {
			s.check(t, a)
			statuses[a.StatusCode]++
		}
	}
	return statuses
}

func TestOfManyBuyersAtOnceOneGetsTheAnimal(t *testing.T) {
	t.Parallel()
	s := newTestServer(t)
	s.stock(t, pets(1, "available")...)
	buyers := make([]request, 32)
	for i := range buyers {
		buyers[i] = place(`{"petId":1}`)
	}
	if got := s.count(t, buyers...); got[201] != 1 || got[409] != 31 {
		t.Errorf("got the answers %v, want one 201 and 31 times 409", got)
	}
	if got := s.count(t, end(1, "deliver"), end(1, "cancel"), end(1, "deliver"), end(1, "cancel")); got[200] != 2 || got[409] != 2 {
		t.Errorf("got the answers %v, want one end only", got)
	}
}
