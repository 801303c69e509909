package http_test

import (
	"strings"
	"testing"
)

// Each request fails two consecutive checks; the response is that of the first.
func TestChecksRunInPublishedOrder(t *testing.T) {
	t.Parallel()
	s := newTestServer(t)
	s.expect(t, postPet(newRex, "Idempotency-Key: used"), created(""))

	const (
		noAPIKey   = "-Authorization"
		textPlain  = "Content-Type: text/plain"
		invalidKey = "Idempotency-Key: not valid"
		usedKey    = "Idempotency-Key: used"
	)
	readOnly := "Authorization: Bearer " + s.createReadOnlyKey(t)
	tooLarge := strings.Repeat("x", 64<<10+1)
	s.run(t, []testCase{
		{"path before method", newRequest("DELETE", "/v1/nothing"), rejected(404, "not_found")},
		{"path before API key", get("/v1/nothing", noAPIKey), rejected(404, "not_found")},
		{"method before API key", newRequest("DELETE", "/v1/pets", noAPIKey), rejected(405, "method_not_allowed")},
		{"API key before media type", postPet(`{}`, noAPIKey, textPlain), rejected(401, "missing_api_key")},
		{"API key before size", postPet(tooLarge, noAPIKey), rejected(401, "missing_api_key")},
		{"API key before query", get("/v1/pets?limit=0", noAPIKey), rejected(401, "missing_api_key")},
		{"API key before path id", get("/v1/pets/none", noAPIKey), rejected(401, "missing_api_key")},
		{"method before permission", newRequest("DELETE", "/v1/pets", readOnly), rejected(405, "method_not_allowed")},
		{"permission before media type", postPet(`{}`, readOnly, textPlain), rejected(403, "forbidden")},
		{"permission before size", postPet(tooLarge, readOnly), rejected(403, "forbidden")},
		{"permission before JSON", postPet(`{`, readOnly), rejected(403, "forbidden")},
		{"permission before path id", newRequest("POST", "/v1/store/orders/none/cancel", readOnly), rejected(403, "forbidden")},
		{"permission before idempotency key reuse", postPet(newRex, readOnly, usedKey), rejected(403, "forbidden")},
		{"media type before size", postPet(tooLarge, textPlain), rejected(415, "unsupported_media_type")},
		{"size before JSON", postPet(tooLarge), rejected(413, "body_too_large")},
		{"JSON before values", postPet(`{"name":"","categoryId":"x"`), rejected(400, "invalid_json")},
		{"JSON before idempotency key format", postPet(`{`, invalidKey), rejected(400, "invalid_json")},
		{"values before idempotency key format", postPet(`{"name":""}`, invalidKey), rejected(400, "validation_failed")},
		{"values before idempotency key reuse", postPet(`{"name":""}`, usedKey), rejected(400, "validation_failed")},
	})
}

func TestRemovedOperationAuthenticatesFirst(t *testing.T) {
	t.Parallel()
	s := newTestServer(t)
	s.clock.set(sunset)
	s.run(t, []testCase{
		{"API key before removal", get("/v1/pets/1", "-Authorization"), rejected(401, "missing_api_key")},
		{"removal before path id", get("/v1/pets/none"), rejected(410, "operation_removed")},
		{"method before removal", newRequest("DELETE", "/v1/pets/1"), rejected(405, "method_not_allowed")},
	})
}
