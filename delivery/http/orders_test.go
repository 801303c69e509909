package http_test

import (
	"fmt"
	"net/http"
	"strings"
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

// usecase shows the rules of orders.
func TestOrderIsPlacedAndEnded(t *testing.T) {
	t.Parallel()
	s := newTestServer(t)
	s.createPets(t, newPets(2, "available")...)
	const order = `{"id":%d,"petId":%[1]d,"status":%q,"createdAt":"2026-11-20T12:00:00.000Z","updatedAt":%q}`
	for _, want := range []struct {
		id             int
		action, status string
	}{{1, "deliver", "delivered"}, {2, "cancel", "cancelled"}} {
		s.clock.set(noon)
		placed := fmt.Sprintf(order, want.id, "placed", "2026-11-20T12:00:00.000Z")
		s.expect(t, postOrder(fmt.Sprintf(`{"petId":%d}`, want.id)), created(placed).withHeader(fmt.Sprintf("Location: ./orders/%d", want.id)))
		s.expect(t, get(fmt.Sprintf("/v1/store/orders/%d", want.id)), ok(placed))
		s.clock.advance(time.Hour + 7*time.Millisecond)
		ended := fmt.Sprintf(order, want.id, want.status, "2026-11-20T13:00:00.007Z")
		s.expect(t, orderAction(want.id, want.action), ok(ended))
		s.expect(t, get(fmt.Sprintf("/v1/store/orders?petId=%d", want.id)), ok(`[`+ended+`]`))
	}
	s.expect(t, orderAction(1, "cancel"), rejected(409, "order_state_conflict"))
	s.expect(t, postOrder(`{"petId":1}`), rejected(409, "pet_not_available", "1"))
	s.expect(t, postOrder(`{"petId":-9223372036854775808}`), rejected(404, "pet_not_found"))
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
