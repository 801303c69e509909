package http

import (
	"net/http"

	"github.com/gin-gonic/gin"
	"github.com/go-json-experiment/json"
)

// writeJSON answers a value. It encodes before it writes, so that a value which
// cannot be encoded still becomes a 500.
func writeJSON(c *gin.Context, status int, value any) error {
	encoded, err := json.Marshal(value)
	if err != nil {
		return err
	}
	writeBody(c, status, encoded)
	return nil
}

// writeRecord is writeJSON for a record, as the store has it.
func writeRecord(c *gin.Context, status int, r record) error {
	encoded, err := r.appendJSON(make([]byte, 0, 2*recordSize))
	if err != nil {
		return err
	}
	writeBody(c, status, encoded)
	return nil
}

// writeBody answers JSON.
func writeBody(c *gin.Context, status int, body []byte) {
	c.Writer.Header()["Content-Type"] = asJSON
	c.Status(status)
	_, _ = c.Writer.Write(body) // a client that is gone is no failure of ours
}

// asJSON is shared by all answers.
var asJSON = []string{"application/json"}

// writeCreated answers a new record. location is relative to the request, so that
// it is right under any prefix (RFC 9110, section 10.2.2).
func writeCreated(c *gin.Context, location string, r record, replayed bool) error {
	c.Header("Location", location)
	if replayed {
		c.Header("Idempotency-Replayed", "true")
	}
	return writeRecord(c, http.StatusCreated, r)
}
