package http

import (
	"net/http"

	"github.com/gin-gonic/gin"

	"example.com/petstore/delivery/internal/record"
)

// writeRecord sends a record. It encodes it first, so that an encoding error can still
// become a 500.
func writeRecord(c *gin.Context, status int, r record.Record) error {
	encoded, err := r.AppendJSON(make([]byte, 0, 2*record.Size))
	if err != nil {
		return err
	}
	writeBody(c, status, encoded)
	return nil
}

// writeCreated sends a new record with 201. location is relative to the URL of the request,
// which is right under any prefix (RFC 9110, section 10.2.2).
func writeCreated(c *gin.Context, location string, r record.Record, replayed bool) error {
	c.Header("Location", location)
	if replayed {
		c.Header("Idempotency-Replayed", "true")
	}
	return writeRecord(c, http.StatusCreated, r)
}

// writeBody sends a JSON body.
func writeBody(c *gin.Context, status int, body []byte) {
	c.Writer.Header()["Content-Type"] = contentTypeJSON
	c.Status(status)
	_, _ = c.Writer.Write(body) // fails only if the client has disconnected
}

var contentTypeJSON = []string{"application/json"}
