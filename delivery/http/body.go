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

// maxBody is the size of the largest body in bytes.
const maxBody = 64 << 10

// setReadDeadline sets the deadline of a request as that of its body, unless the server's
// ReadTimeout is shorter.
func (a *API) setReadDeadline(c *gin.Context, deadline time.Time) {
	server, _ := c.Request.Context().Value(http.ServerContextKey).(*http.Server)
	if server == nil || server.ReadTimeout <= 0 || server.ReadTimeout > a.timeout {
		_ = http.NewResponseController(c.Writer).SetReadDeadline(deadline)
	}
}

// readBody reads a body of at most maxBody bytes.
func readBody(c *gin.Context) (body []byte, err error) {
	if size := c.Request.ContentLength; size > 0 && size <= maxBody {
		body = make([]byte, size)
		_, err = io.ReadFull(c.Request.Body, body)
	} else {
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
