package swagger

import (
	"cmp"
	"io"
	"mime"
	"net"
	"net/http"
	"strconv"
	"strings"

	"github.com/gin-gonic/gin"
)

// contentSecurityPolicy allows the resources of Swagger UI 5, from the same origin only.
const contentSecurityPolicy = "default-src 'none'; script-src 'self'; style-src 'self' 'unsafe-inline'; img-src 'self' data:; " +
	"connect-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'"

// A body is the body of a response. A client that does not read it keeps the memory that
// WriteTo allocates in use.
type body struct {
	size int64
	io.WriterTo
}

// inMemory returns a body of parts, which are not copied.
func inMemory(parts ...[]byte) body {
	var size int64
	for _, part := range parts {
		size += int64(len(part))
	}
	return body{size, (*net.Buffers)(&parts)}
}

// serve sends plain, or the result of compressed if that is not nil and the client accepts
// gzip, or 304 if the client has it. It supports neither ranges (RFC 9110, section 14.3) nor
// preconditions other than If-None-Match: http.ServeContent supports both, but sends errors
// as plain text. etag is without quotes.
func serve(c *gin.Context, contentType, etag string, plain body, compressed func() body) {
	header := c.Writer.Header()
	header.Set("Cache-Control", "no-cache")
	header.Set("Content-Security-Policy", contentSecurityPolicy)
	header.Set("X-Content-Type-Options", "nosniff")
	header.Set("Referrer-Policy", "no-referrer")
	compress := false
	if compressed != nil {
		header.Add("Vary", "Accept-Encoding")
		compress = acceptsGzip(c.Request.Header)
	}
	if compress {
		etag += "-gzip"
	}
	etag = `"` + etag + `"`
	header.Set("ETag", etag)
	if etagMatches(c.Request.Header, etag) {
		c.Status(http.StatusNotModified)
		return
	}
	content := plain
	if compress {
		header.Set("Content-Encoding", "gzip")
		content = compressed()
	}
	header.Set("Content-Type", contentType)
	header.Set("Content-Length", strconv.FormatInt(content.size, 10))
	c.Status(http.StatusOK)
	_, _ = content.WriteTo(c.Writer) // fails only if the client has disconnected
}

// etagMatches reports whether If-None-Match has the ETag, in the weak comparison (RFC 9110,
// section 13.1.2). The ETags of this package have no comma.
func etagMatches(header http.Header, etag string) bool {
	for _, tag := range listElements(header, "If-None-Match") {
		if tag = strings.TrimPrefix(tag, "W/"); tag == etag || tag == "*" {
			return true
		}
	}
	return false
}

// acceptsGzip reports whether Accept-Encoding has gzip, or else *, with a weight above 0
// (RFC 9110, section 12.5.3).
func acceptsGzip(header http.Header) bool {
	accepted := false
	for _, element := range listElements(header, "Accept-Encoding") {
		coding, parameters, err := mime.ParseMediaType(element)
		if err != nil {
			continue
		}
		weight, err := strconv.ParseFloat(cmp.Or(parameters["q"], "1"), 64)
		switch coding {
		case "gzip", "x-gzip":
			return err == nil && weight > 0
		case "*":
			accepted = err == nil && weight > 0
		}
	}
	return accepted
}

// listElements returns the elements of a header whose value is a list (RFC 9110, section
// 5.6.1).
func listElements(header http.Header, name string) []string {
	elements := strings.Split(strings.Join(header.Values(name), ","), ",")
	for i := range elements {
		elements[i] = strings.TrimSpace(elements[i])
	}
	return elements
}
