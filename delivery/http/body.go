package http

import (
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"time"

	"github.com/gin-gonic/gin"

	"example.com/petstore/domain"
)

const (
	// maxBody is the size of the largest body in bytes.
	maxBody = 64 << 10
	// maxDiscard and discardTimeout bound what is still read of a body, in bytes and in
	// time, after its response was sent.
	maxDiscard     = 16 << 20
	discardTimeout = 2 * time.Second
)

// setReadDeadline sets the deadline of a request as that of its body, unless the server's
// ReadTimeout is shorter.
func (a *API) setReadDeadline(c *gin.Context, deadline time.Time) {
	server, _ := c.Request.Context().Value(http.ServerContextKey).(*http.Server)
	if server == nil || server.ReadTimeout <= 0 || server.ReadTimeout > a.timeout {
		_ = http.NewResponseController(c.Writer).SetReadDeadline(deadline)
	}
}

// discardBody discards what a client sends of its body after the response, when that body
// was declared larger than maxBody, or when its size is unknown and the request failed: a
// connection that is closed with unread data is reset, and the client might lose the
// response (RFC 9112, section 9.6). The response to a body declared too large is the last
// one of its connection, so that net/http does not wait for the body. HTTP/2 needs none of
// this, because it ends the stream alone.
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
		_ = control.SetReadDeadline(time.Now().Add(discardTimeout))
		_, _ = io.CopyN(io.Discard, c.Request.Body, maxDiscard)
	}
}

// readBody reads a body of at most maxBody bytes. A larger one is refused by its
// Content-Length, before net/http would send 100 Continue (RFC 9110, section 10.1.1).
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
	if err == nil { // net/http now reads to notice when the client disconnects, without a deadline
		_ = http.NewResponseController(c.Writer).SetReadDeadline(time.Time{})
	}
	return body, err
}

// readError returns the error to respond with when a body could not be read to its end.
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
		return &domain.Error{Kind: errTimeout, Code: codeRequestTimeout, Message: "the body did not arrive in time", Cause: err}
	default:
		return invalidJSON("the body did not arrive whole", err)
	}
}
