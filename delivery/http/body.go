package http

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"mime"
	"net"
	"net/http"
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/gin-gonic/gin"

	"example.com/petstore/domain"
	"example.com/petstore/internal/binding"
	"example.com/petstore/internal/record"
)

const (
	// maxBody is the maximum size of a body in bytes.
	maxBody = 64 << 10
	// maxDiscard is the maximum number of bytes, and discardTimeout the maximum time, that discardBody reads.
	maxDiscard     = 16 << 20
	discardTimeout = 2 * time.Second
)

// setReadDeadline sets the deadline for reading the body of a request. It does nothing if the server has a ReadTimeout
// that is not longer than the timeout of a request.
func (a *API) setReadDeadline(c *gin.Context, deadline time.Time) {
	server, _ := c.Request.Context().Value(http.ServerContextKey).(*http.Server)
	if server == nil || server.ReadTimeout <= 0 || server.ReadTimeout > a.timeout {
		_ = http.NewResponseController(c.Writer).SetReadDeadline(deadline)
	}
}

// discardBody is a middleware that reads and discards the rest of the body after the handler, before net/http sends the
// response. Otherwise net/http would close a connection with unread data, which resets it, and the client might lose the
// response (RFC 9112, section 9.6). discardBody reads the rest if the declared size of the body is above maxBody, or if the
// size is unknown and the request failed.
//
// With a declared size above maxBody, it also closes the connection, so that net/http does not wait for the body. It does
// not flush the response, because the host may have a writer that compresses.
//
// It does nothing for HTTP/2, which resets only the stream, nor after Expect: 100-continue, because the client then waits
// for the response instead of sending the body.
func discardBody(c *gin.Context) {
	size := c.Request.ContentLength // -1 when it is unknown
	if size >= 0 && size <= maxBody || c.Request.ProtoMajor != 1 || c.Request.Header.Get("Expect") != "" {
		return
	}
	if size > maxBody {
		c.Header("Connection", "close")
	}
	c.Next()
	if size > maxBody || c.Writer.Status() >= http.StatusBadRequest {
		control := http.NewResponseController(c.Writer)
		if control.SetReadDeadline(time.Now().Add(discardTimeout)) != nil {
			return // the writer has no deadlines, as with http.TimeoutHandler, which sends the response after the handler
		}
		_, err := io.CopyN(io.Discard, c.Request.Body, maxDiscard)
		if errors.Is(err, io.EOF) || errors.Is(err, http.ErrBodyReadAfterClose) { // net/http closes the body when it sends a long response
			_ = control.SetReadDeadline(time.Time{}) // net/http keeps reading in order to detect a disconnect: this read must have no deadline
		}
	}
}

// readBody reads a body of at most maxBody bytes. If Content-Length is larger, it returns an error without reading,
// so that net/http does not send 100 Continue (RFC 9110, section 10.1.1).
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
	if err == nil { // net/http keeps reading in order to detect a disconnect: this read must have no deadline
		stateOf(c).deadline = time.Time{}
		_ = http.NewResponseController(c.Writer).SetReadDeadline(time.Time{})
	}
	return body, err
}

// readError returns the domain.Error for an error of readBody.
func readError(err error) error {
	tooLarge, isTooLarge := errors.AsType[*http.MaxBytesError](err)
	network, isNetwork := errors.AsType[net.Error](err)
	switch {
	case isTooLarge:
		return &domain.Error{
			Kind: errBodyTooLarge, Code: codeBodyTooLarge,
			Message: fmt.Sprintf("the body must not be larger than %d bytes", tooLarge.Limit),
		}
	case isNetwork && network.Timeout():
		return &domain.Error{Kind: errTimeout, Code: codeRequestTimeout, Message: "the body was not received in time", Cause: err}
	default:
		return binding.InvalidJSON("the body is incomplete", err)
	}
}

// writeRecord sends a record. It encodes the whole record before it sends the status, so that an encoding error
// results in 500.
func writeRecord(c *gin.Context, status int, r record.Record) error {
	encoded, err := r.AppendJSON(make([]byte, 0, 2*record.Size))
	if err != nil {
		return err
	}
	writeBody(c, status, encoded)
	return nil
}

// setReplayed sets the header Idempotency-Replayed if replayed is true: the response is the result of an earlier request
// with the same Idempotency-Key.
func setReplayed(c *gin.Context, replayed bool) {
	if replayed {
		c.Header("Idempotency-Replayed", "true")
	}
}

// writeBody sends a JSON body.
func writeBody(c *gin.Context, status int, body []byte) {
	c.Writer.Header()["Content-Type"] = contentTypeJSON
	c.Status(status)
	_, _ = c.Writer.Write(body) // fails only if the client has disconnected
}

// mergePatch is the media type of a JSON Merge Patch. acceptPatch is the header Accept-Patch (RFC 5789, section 3.1).
const (
	mergePatch  = "application/merge-patch+json"
	acceptPatch = mergePatch + ", application/json"
)

var contentTypeJSON = []string{"application/json"}

// byteOrderMark may precede JSON (RFC 8259, section 8.1).
var byteOrderMark = []byte("\ufeff")

// bindBody decodes and validates the JSON in the body of a request. It checks, in this order, the media type, the
// size, the JSON, the values and that there is no query, and returns the error of the first check that fails. The
// media type must be application/json or one of others.
func bindBody[T any](c *gin.Context, decode func(raw []byte, name string) (T, error), others ...string) (body T, err error) {
	if err := checkMediaType(c.Request.Header, others...); err != nil {
		if c.Request.Method == http.MethodPatch {
			c.Header("Accept-Patch", acceptPatch)
		}
		return body, err
	}
	raw, err := readBody(c)
	if err != nil {
		return body, readError(err)
	}
	if body, err = decode(bytes.TrimPrefix(raw, byteOrderMark), "the body"); err != nil {
		return body, err
	}
	return body, rejectParameters(c)
}

// rejectParameters returns an ErrInvalid (invalid_parameter) if a request has a query. It is for operations without
// parameters.
func rejectParameters(c *gin.Context) error {
	query := queryOf(c)
	if query == "" {
		return nil
	}
	_, err := binding.Query[struct{}](query)
	return err
}

// checkMediaType returns an errUnsupportedMediaType unless the media type of the body is application/json or one of
// others, in UTF-8 and without a content coding.
func checkMediaType(header http.Header, others ...string) error {
	types := header.Values("Content-Type")
	if len(types) != 1 {
		return unsupportedMediaType("send the header Content-Type: application/json")
	}
	if types[0] != "application/json" { // parsing is slow, and most requests do not need it
		if err := checkContentType(types[0], others); err != nil {
			return err
		}
	}
	for _, encoding := range header.Values("Content-Encoding") {
		if !strings.EqualFold(strings.TrimSpace(encoding), "identity") {
			return unsupportedMediaType("the body must not have a Content-Encoding")
		}
	}
	return nil
}

// checkContentType returns an errUnsupportedMediaType unless the media type is application/json or one of others.
// Its parameters have no effect (RFC 8259, section 11), except a charset other than UTF-8 and US-ASCII.
func checkContentType(contentType string, others []string) error {
	allowed := append([]string{"application/json"}, others...)
	mediaType, parameters, err := mime.ParseMediaType(contentType)
	charset, hasCharset := parameters["charset"]
	switch {
	case err != nil || !slices.Contains(allowed, mediaType):
		return unsupportedMediaType("the body must be " + strings.Join(allowed, " or "))
	case hasCharset && !slices.Contains([]string{"utf-8", "utf8", "us-ascii"}, strings.ToLower(charset)):
		return unsupportedMediaType("the charset of the body must be utf-8")
	}
	return nil
}

func unsupportedMediaType(message string) error {
	return &domain.Error{Kind: errUnsupportedMediaType, Code: codeUnsupportedMediaType, Message: message}
}

// pathID returns the id in the last parameter of the path. (A parameter with the same name may occur earlier, in
// the prefix of a host.) record is the noun for errors, "pet" or "order". If the id is not an int64, pathID returns
// an ErrNotFound with the code notFound, because no record has such an id. If the request has a query, it returns
// an ErrInvalid.
func pathID(c *gin.Context, record string, notFound domain.Code) (int64, error) {
	if err := rejectParameters(c); err != nil {
		return 0, err
	}
	id, ok := binding.ParseInt64(c.Params[len(c.Params)-1].Value)
	if !ok {
		return 0, &domain.Error{Kind: domain.ErrNotFound, Code: notFound, Message: "there is no " + record + " with this id"}
	}
	return id, nil
}

// idempotencyKey returns the key in the header Idempotency-Key, or the zero key if there is no header. The value is
// the key itself, or the key as a quoted string (RFC 9651, section 3.3.3). If the key is invalid or the header
// occurs more than once, the error is an ErrInvalid (invalid_idempotency_key).
func idempotencyKey(c *gin.Context) (domain.IdempotencyKey, error) {
	values := c.Request.Header.Values("Idempotency-Key")
	if len(values) == 0 {
		return domain.IdempotencyKey{}, nil
	}
	if len(values) > 1 {
		return domain.IdempotencyKey{}, domain.Invalid(
			domain.CodeInvalidIdempotencyKey, domain.Violation{Field: "Idempotency-Key", Rule: "must be given once"},
		)
	}
	key := domain.IdempotencyKey{Caller: stateOf(c).scope(), Value: values[0]}
	if strings.HasPrefix(key.Value, `"`) {
		key.Value = unquote(key.Value)
	}
	return key, key.Validate()
}

var (
	quotedString = regexp.MustCompile(`^"((?:[^"\\]|\\["\\])*)"$`)
	escaped      = regexp.MustCompile(`\\(.)`)
)

// unquote returns the content of a quoted string, or "" if the string is malformed.
func unquote(quoted string) string {
	match := quotedString.FindStringSubmatch(quoted)
	if match == nil {
		return ""
	}
	return escaped.ReplaceAllString(match[1], "$1")
}
