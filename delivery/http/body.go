package http

import (
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"time"

	"github.com/gin-gonic/gin"

	"example.com/petstore/delivery/internal/binding"
	"example.com/petstore/delivery/internal/record"
	"example.com/petstore/domain"
)

const (
	// maxBody is the maximum size of a body in bytes.
	maxBody = 64 << 10
	// maxDiscard (bytes) and discardTimeout limit what is read of a body after its
	// response was sent.
	maxDiscard     = 16 << 20
	discardTimeout = 2 * time.Second
)

// setReadDeadline sets the deadline for reading the body of a request, unless the
// ReadTimeout of the server is shorter than the timeout of a request.
func (a *API) setReadDeadline(c *gin.Context, deadline time.Time) {
	server, _ := c.Request.Context().Value(http.ServerContextKey).(*http.Server)
	if server == nil || server.ReadTimeout <= 0 || server.ReadTimeout > a.timeout {
		_ = http.NewResponseController(c.Writer).SetReadDeadline(deadline)
	}
}

// discardBody reads and discards the rest of a body after the response, if its declared
// size is above maxBody, or if its size is unknown and the request failed: closing a
// connection with unread data resets it, and the client might lose the response (RFC 9112,
// section 9.6). After a body that is declared too large the connection is closed, so that
// net/http does not wait for the body. HTTP/2 needs none of this: it resets the stream only.
func discardBody(c *gin.Context) {
	size := c.Request.ContentLength // -1 when it is unknown
	if size >= 0 && size <= maxBody || c.Request.ProtoMajor != 1 {
		return
	}
	if size > maxBody {
		c.Header("Connection", "close")
	}
	c.Next()
	if size > maxBody || c.Writer.Status() >= http.StatusBadRequest {
		control := http.NewResponseController(c.Writer)
		_ = control.Flush()
		if control.SetReadDeadline(time.Now().Add(discardTimeout)) != nil {
			return // such as http.TimeoutHandler, which sends the response after its handler
		}
		_, err := io.CopyN(io.Discard, c.Request.Body, maxDiscard)
		if errors.Is(err, io.EOF) || errors.Is(err, http.ErrBodyReadAfterClose) { // Flush may read and close it
			_ = control.SetReadDeadline(time.Time{}) // as in readBody
		}
	}
}

// readBody reads a body of at most maxBody bytes. It rejects a larger Content-Length
// without reading, before net/http sends 100 Continue (RFC 9110, section 10.1.1).
func readBody(c *gin.Context) (body []byte, err error) {
	switch size := c.Request.ContentLength; {
	case size > maxBody:
		return nil, &http.MaxBytesError{Limit: maxBody}
	case size > 0:
		body = make([]byte, size)
		_, err = io.ReadFull(c.Request.Body, body)
	default:
		body, err = io.ReadAll(http.MaxBytesReader(c.Writer, c.Request.Body, maxBody))
	}
	if err == nil { // net/http keeps reading in order to detect a disconnect, which must have no deadline
		_ = http.NewResponseController(c.Writer).SetReadDeadline(time.Time{})
	}
	return body, err
}

// readError returns the error of the response for an error of readBody.
func readError(err error) error {
	var tooLarge *http.MaxBytesError
	var network net.Error
	switch {
	case errors.As(err, &tooLarge):
		return &domain.Error{
			Kind: errBodyTooLarge, Code: codeBodyTooLarge,
			Message: fmt.Sprintf("the body must not be larger than %d bytes", tooLarge.Limit),
		}
	case errors.As(err, &network) && network.Timeout():
		return &domain.Error{Kind: errTimeout, Code: codeRequestTimeout, Message: "the body was not received in time", Cause: err}
	default:
		return binding.InvalidJSON("the body is incomplete", err)
	}
}

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
