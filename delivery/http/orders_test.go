package http_test

import (
	"fmt"
	"net/http"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"
)

func postOrder(body string, header ...string) request {
	return request{method: http.MethodPost, path: "/v1/store/orders", header: header, body: body}
}

// orderAction returns a POST to the sub-resource deliver or cancel of an order.
func orderAction(id int, action string) request {
	return newRequest(http.MethodPost, fmt.Sprintf("/v1/store/orders/%d/%s", id, action))
}

// usecase shows the other rules of orders.
func TestOrderStatusUpdatesPetStatus(t *testing.T) {
	t.Parallel()
	for action, want := range map[string]struct{ order, pet, other string }{
		"deliver": {"delivered", "sold", "cancel"}, "cancel": {"cancelled", "available", "deliver"},
	} {
		s := newTestServer(t)
		s.createPets(t, newPets(1, "available")...)
		const pet = `{"id":1,"name":"Rex","categoryId":7,"status":%q}`
		const order = `{"id":1,"petId":1,"status":%q,"createdAt":"2026-11-20T12:00:00.000Z","updatedAt":%q}`
		placed := fmt.Sprintf(order, "placed", "2026-11-20T12:00:00.000Z")
		s.expect(t, postOrder(`{"petId":1}`), created(placed).withHeader("Location: ./orders/1"))
		s.expect(t, get("/v1/store/orders/1"), ok(placed))
		s.expect(t, get("/v1/pets?status=pending"), ok(`[`+fmt.Sprintf(pet, "pending")+`]`))
		s.expect(t, postOrder(`{"petId":1}`), rejected(409, "pet_not_available", "1"))
		s.expect(t, postOrder(`{"petId":-9223372036854775808}`), rejected(404, "pet_not_found"))

		s.clock.set(noon.Add(time.Hour + 7*time.Millisecond))
		updated := fmt.Sprintf(order, want.order, "2026-11-20T13:00:00.007Z")
		s.expect(t, orderAction(1, action), ok(updated))
		s.clock.advance(time.Hour)
		s.expect(t, orderAction(1, action), ok(updated)) // no second update
		s.expect(t, orderAction(1, want.other), rejected(409, "order_state_conflict"))
		s.expect(t, get("/v1/store/orders/1"), ok(updated))
		s.expect(t, get("/v1/store/orders?petId=1"), ok(`[`+updated+`]`))
		s.expect(t, get("/v1/pets/1"), ok(fmt.Sprintf(pet, want.pet)))
	}
}

func TestPlaceOrderRejectsInvalidBody(t *testing.T) {
	t.Parallel()
	s := newTestServer(t)
	for _, body := range []string{
		`{}`, `{"petID":1}`, `{"petId":null}`, `{"petId":"1"}`, `{"petId":1.0}`, `{"petId":9223372036854775808}`,
	} {
		s.expect(t, postOrder(body), rejected(400, "validation_failed", "petId"))
	}
	s.expect(t, postOrder(`{"petId":1`), rejected(400, "invalid_json"))
	s.expect(t, postOrder(`{"petId":1,"petId":2}`), rejected(400, "invalid_json"))
	s.expect(t, postOrder(`{"x":"`+strings.Repeat("x", 64<<10)+`"}`), rejected(413, "body_too_large"))
	s.expect(t, postOrder(`{"petId":1}`, "-Content-Type"), rejected(415, "unsupported_media_type"))
	s.expect(t, postOrder(`{"petId":1}`, `Idempotency-Key: ""`), rejected(400, "invalid_idempotency_key"))
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

// sendConcurrently sends requests at once and counts the responses by status.
func (s *testServer) sendConcurrently(t *testing.T, requests ...request) map[int]int {
	t.Helper()
	var mu sync.Mutex
	statuses := map[int]int{}
	var wait sync.WaitGroup
	for _, r := range requests {
		wait.Go(func() {
			res, err := s.send(t.Context(), r)
			if err != nil {
				t.Error(err)
				return
			}
			mu.Lock()
			defer mu.Unlock()
			statuses[res.StatusCode]++
		})
	}
	wait.Wait()
	return statuses
}

func TestConcurrentOrdersForOnePetAcceptOne(t *testing.T) {
	t.Parallel()
	s := newTestServer(t)
	s.createPets(t, newPets(1, "available")...)
	if got := s.sendConcurrently(t, slices.Repeat([]request{postOrder(`{"petId":1}`)}, 32)...); got[201] != 1 || got[409] != 31 {
		t.Errorf("got %v responses by status, want 1 of 201 and 31 of 409", got)
	}
	if got := s.sendConcurrently(t, orderAction(1, "deliver"), orderAction(1, "cancel"), orderAction(1, "deliver"), orderAction(1, "cancel")); got[200] != 2 || got[409] != 2 {
		t.Errorf("got %v responses by status, want 2 of 200 and 2 of 409", got)
	}
}
