package http_test

import (
	"strings"
	"testing"
)

// Each request breaks two checks that follow each other; the earlier one answers.
func TestChecksComeInThePublishedOrder(t *testing.T) {
	t.Parallel()
	s := newTestServer(t)
	s.expect(t, post(`{"name":"Rex","categoryId":7}`, "Idempotency-Key: taken"), created(""))

	const (
		noKey   = "-Authorization"
		text    = "Content-Type: text/plain"
		badKey  = "Idempotency-Key: not visible"
		usedKey = "Idempotency-Key: taken"
	)
	long := strings.Repeat("x", 64<<10+1)
	s.run(t, []testCase{
		{"route before method", send("DELETE", "/v1/nothing"), refused(404, "not_found")},
		{"route before key", get("/v1/nothing", noKey), refused(404, "not_found")},
		{"method before key", send("DELETE", "/v1/pets", noKey), refused(405, "method_not_allowed")},
		{"key before media type", post(`{}`, noKey, text), refused(401, "missing_api_key")},
		{"key before size", post(long, noKey), refused(401, "missing_api_key")},
		{"key before query", get("/v1/pets?limit=0", noKey), refused(401, "missing_api_key")},
		{"key before path id", get("/v1/pets/none", noKey), refused(401, "missing_api_key")},
		{"media type before size", post(long, text), refused(415, "unsupported_media_type")},
		{"size before JSON", post(long), refused(413, "body_too_large")},
		{"JSON before values", post(`{"name":"","categoryId":"x"`), refused(400, "invalid_json")},
		{"JSON before the form of the idempotency key", post(`{`, badKey), refused(400, "invalid_json")},
		{"values before the form of the idempotency key", post(`{"name":""}`, badKey), refused(400, "validation_failed")},
		{"values before the use of the idempotency key", post(`{"name":""}`, usedKey), refused(400, "validation_failed")},
	})
}

func TestAfterItsRemovalAnOperationStillAsksForTheKeyFirst(t *testing.T) {
	t.Parallel()
	s := newTestServer(t)
	s.clock.set(sunset)
	s.run(t, []testCase{
		{"key before removal", get("/v1/pets/1", "-Authorization"), refused(401, "missing_api_key")},
		{"removal before path id", get("/v1/pets/none"), refused(410, "operation_removed")},
		{"method before removal", send("DELETE", "/v1/pets/1"), refused(405, "method_not_allowed")},
	})
}
