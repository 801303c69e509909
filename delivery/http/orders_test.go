package http_test

import (
	"fmt"
	"net/http"
	"testing"
	"time"
)

// Package usecase tests how an order changes the status of its animal.
func TestOrderIsPlacedAndEnded(t *testing.T) {
	t.Parallel()
	s := newTestServer(t)
	s.createPets(t, newPets(2, "available")...)
	const order = `{"id":%d,"petId":%[1]d,"status":%q,"createdAt":"2026-11-20T12:00:00.000Z","updatedAt":%q}`
	for i, want := range []struct{ action, status string }{{"deliver", "delivered"}, {"cancel", "cancelled"}} {
		s.clock.set(noon)
		id, path := i+1, fmt.Sprintf("/v1/store/orders/%d", i+1)
		placed := fmt.Sprintf(order, id, "placed", "2026-11-20T12:00:00.000Z")
		place := postOrder(fmt.Sprintf(`{"petId":%d}`, id), "Idempotency-Key: "+want.action)
		s.expect(t, place, created(placed).withHeader(fmt.Sprintf("Location: ./orders/%d", id), notReplayed))
		s.expect(t, get(path), ok(placed))
		s.clock.advance(time.Hour + 7*time.Millisecond)
		ended := fmt.Sprintf(order, id, want.status, "2026-11-20T13:00:00.007Z")
		s.expect(t, newRequest(http.MethodPost, path+"/"+want.action), ok(ended))
		s.expect(t, get(fmt.Sprintf("/v1/store/orders?petId=%d", id)), ok(`[`+ended+`]`))
		s.expect(t, place, created(placed).withHeader(fmt.Sprintf("Location: ./orders/%d", id), replayed))
	}
	s.expect(t, newRequest(http.MethodPost, "/v1/store/orders/1/cancel"), rejected(409, "order_state_conflict"))
	s.expect(t, postOrder(`{"petId":1}`), rejected(409, "pet_not_available", "1"))
	for _, r := range []request{postOrder(`{"petId":2}`, "Idempotency-Key: deliver"), postPet(newRex, "Idempotency-Key: deliver")} {
		s.expect(t, r, rejected(422, "idempotency_key_reused"))
	}
	// FuzzCreatePet has more bodies.
	for _, body := range []string{`{}`, `{"petID":1}`, `{"petId":null}`, `{"petId":"1"}`, `{"petId":1.0}`, `{"petId":9223372036854775808}`} {
		s.expect(t, postOrder(body), rejected(400, "validation_failed", "petId"))
	}
	s.expect(t, postOrder(`{"petId":1`), rejected(400, "invalid_json"))
	s.expect(t, postOrder(`{"petId":1}`, "-Content-Type"), rejected(415, "unsupported_media_type"))
	s.expect(t, postOrder(`{"petId":1}`, `Idempotency-Key: ""`), rejected(400, "invalid_idempotency_key"))
	s.expect(t, postOrder(`{"petId":-9223372036854775808}`, "Idempotency-Key: unused"), rejected(404, "pet_not_found"))
	s.expect(t, postPet(newRex, "Idempotency-Key: unused"), created("").withHeader(notReplayed))
}
