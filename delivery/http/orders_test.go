package http_test

import (
	"fmt"
	"net/http"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"example.com/petstore/domain"
)

func postOrder(body string, header ...string) request {
	return request{method: http.MethodPost, path: "/v1/store/orders", header: header, body: body}
}

// orderAction returns a POST to the sub-resource deliver or cancel of an order.
func orderAction(id int, action string) request {
	return newRequest(http.MethodPost, fmt.Sprintf("/v1/store/orders/%d/%s", id, action))
}

func TestOrderStatusUpdatesPetStatus(t *testing.T) {
	t.Parallel()
	s, id := newTestServer(t), 0
	for action, want := range map[string]struct{ order, pet, other string }{
		"deliver": {"delivered", "sold", "cancel"}, "cancel": {"cancelled", "available", "deliver"},
	} {
		for _, before := range []domain.PetStatus{"available", ""} {
			id++
			s.clock.set(noon)
			s.createPets(t, newPets(1, before)...)
			pet := fmt.Sprintf(`{"id":%d,"name":"Rex","categoryId":7,"status":%%q}`, id)
			order := fmt.Sprintf(`{"id":%d,"petId":%d,"status":%%q,"createdAt":"2026-11-20T12:00:00.000Z","updatedAt":%%q}`, id, id)
			placed := fmt.Sprintf(order, "placed", "2026-11-20T12:00:00.000Z")
			res := s.expect(t, postOrder(fmt.Sprintf(`{"petId":%d}`, id)), created(placed))
			location, err := res.Location()
			if err != nil {
				t.Fatal(err)
			}
			s.expect(t, get(location.Path), ok(placed))
			s.expect(t, get("/v1/pets?status=pending"), ok(`[`+fmt.Sprintf(pet, "pending")+`]`))

			s.clock.set(noon.Add(time.Hour + 7*time.Millisecond))
			updated := fmt.Sprintf(order, want.order, "2026-11-20T13:00:00.007Z")
			s.expect(t, orderAction(id, action), ok(updated))
			s.clock.advance(time.Hour)
			s.expect(t, orderAction(id, action), ok(updated)) // no second update
			s.expect(t, orderAction(id, want.other), rejected(409, "order_state_conflict"))
			s.expect(t, get(location.Path), ok(updated))
			s.expect(t, get(fmt.Sprintf("/v1/store/orders?petId=%d", id)), ok(`[`+updated+`]`))
			s.expect(t, get(fmt.Sprintf("/v1/pets/%d", id)), ok(fmt.Sprintf(pet, want.pet)))
		}
	}
}

func TestUnavailablePetCannotBeOrdered(t *testing.T) {
	t.Parallel()
	s := newTestServer(t)
	for _, status := range []domain.PetStatus{"pending", "sold", "available"} {
		s.createPets(t, newPets(1, status)...)
	}
	s.expect(t, postOrder(`{"petId":1}`), rejected(409, "pet_not_available", "1"))
	s.expect(t, postOrder(`{"petId":2}`), rejected(409, "pet_not_available", "2"))
	s.expect(t, postOrder(`{"petId":4}`), rejected(404, "pet_not_found", "4"))
	s.expect(t, postOrder(`{"petId":-9223372036854775808}`), rejected(404, "pet_not_found"))
	s.expect(t, postOrder(`{"petId":3}`), created(""))
	s.expect(t, postOrder(`{"petId":3}`), rejected(409, "pet_not_available"))
	s.expect(t, orderAction(1, "cancel"), ok(""))
	s.expect(t, postOrder(`{"petId":3}`), created(""))
	s.expect(t, orderAction(2, "deliver"), ok(""))
	s.expect(t, postOrder(`{"petId":3}`), rejected(409, "pet_not_available"))
}

func TestPlaceOrderRejectsInvalidBody(t *testing.T) {
	t.Parallel()
	s := newTestServer(t)
	invalid := rejected(400, "validation_failed", "petId")
	s.run(t, []testCase{
		{"no petId", postOrder(`{}`), invalid},
		{"petId in another letter case", postOrder(`{"petID":1}`), invalid},
		{"petId null", postOrder(`{"petId":null}`), invalid},
		{"petId a string", postOrder(`{"petId":"1"}`), invalid},
		{"petId with a fraction", postOrder(`{"petId":1.0}`), invalid},
		{"petId beyond int64", postOrder(`{"petId":9223372036854775808}`), invalid},
		{"invalid JSON", postOrder(`{"petId":1`), rejected(400, "invalid_json")},
		{"petId twice", postOrder(`{"petId":1,"petId":2}`), rejected(400, "invalid_json")},
		{"too large", postOrder(`{"x":"` + strings.Repeat("x", 64<<10) + `"}`), rejected(413, "body_too_large")},
		{"no media type", postOrder(`{"petId":1}`, "-Content-Type"), rejected(415, "unsupported_media_type")},
		{"invalid idempotency key", postOrder(`{"petId":1}`, `Idempotency-Key: ""`), rejected(400, "invalid_idempotency_key")},
	})
}

func TestUnknownOrderIsNotFound(t *testing.T) {
	t.Parallel()
	s := newTestServer(t)
	for _, id := range []string{"1", "0", "-1", "one", "+1", "1.0", "9223372036854775808", "%20"} {
		s.expect(t, get("/v1/store/orders/"+id), rejected(404, "order_not_found"))
		s.expect(t, newRequest("POST", "/v1/store/orders/"+id+"/deliver"), rejected(404, "order_not_found"))
		s.expect(t, newRequest("POST", "/v1/store/orders/"+id+"/cancel"), rejected(404, "order_not_found"))
	}
}

func TestOrderIsPlacedOncePerIdempotencyKey(t *testing.T) {
	t.Parallel()
	s := newTestServer(t)
	s.createPets(t, newPets(2, "available")...)
	const one = "Idempotency-Key: one"
	s.expect(t, postOrder(`{"petId":3}`, one), rejected(404, "pet_not_found"))
	s.expect(t, postOrder(`{"petId":1}`, one), created("").withHeader(notReplayed))
	s.expect(t, orderAction(1, "cancel"), ok(""))
	s.expect(t, postOrder(`{"petId":1}`, one), created(`{
		"id":1,"petId":1,"status":"placed","createdAt":"2026-11-20T12:00:00.000Z","updatedAt":"2026-11-20T12:00:00.000Z"
	}`).withHeader(replayed, "Location: ./orders/1"))
	s.expect(t, postOrder(`{"petId":2}`, one), rejected(422, "idempotency_key_reused"))
	s.expect(t, postPet(newRex, one), rejected(422, "idempotency_key_reused"))
	s.expect(t, get("/v1/pets?status=pending"), ok(`[]`))
}

// sendConcurrently sends requests at once and returns the responses.
func (s *testServer) sendConcurrently(t *testing.T, requests ...request) []response {
	t.Helper()
	responses := make([]response, len(requests))
	var wait sync.WaitGroup
	for i, r := range requests {
		wait.Go(func() {
			var err error
			if responses[i], err = s.send(t.Context(), r); err != nil {
				t.Error(err)
			}
		})
	}
	wait.Wait()
	if t.Failed() {
		t.FailNow()
	}
	return responses
}

// countStatuses sends requests at once and counts the responses by status.
func (s *testServer) countStatuses(t *testing.T, requests ...request) map[int]int {
	t.Helper()
	statuses := map[int]int{}
	for _, res := range s.sendConcurrently(t, requests...) {
		s.checkCommonRules(t, res)
		statuses[res.StatusCode]++
	}
	return statuses
}

func TestConcurrentOrdersForOnePetAcceptOne(t *testing.T) {
	t.Parallel()
	s := newTestServer(t)
	s.createPets(t, newPets(1, "available")...)
	if got := s.countStatuses(t, slices.Repeat([]request{postOrder(`{"petId":1}`)}, 32)...); got[201] != 1 || got[409] != 31 {
		t.Errorf("got %v responses by status, want 1 of 201 and 31 of 409", got)
	}
	if got := s.countStatuses(t, orderAction(1, "deliver"), orderAction(1, "cancel"), orderAction(1, "deliver"), orderAction(1, "cancel")); got[200] != 2 || got[409] != 2 {
		t.Errorf("got %v responses by status, want 2 of 200 and 2 of 409", got)
	}
}
