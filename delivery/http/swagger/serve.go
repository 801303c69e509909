package swagger

import (
	"bytes"
	"cmp"
	"mime"
	"net/http"
	"strconv"
	"strings"

	"github.com/gin-gonic/gin"
)

// contentSecurityPolicy allows the resources of Swagger UI 5, from the same origin only.
const contentSecurityPolicy = "default-src 'none'; script-src 'self'; style-src 'self' 'unsafe-inline'; img-src 'self' data:; " +
	"connect-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'"

// serve sends the file, compressed if the client accepts gzip, or 304 if the client has
// it. It supports neither ranges (RFC 9110, section 14.3) nor preconditions other than
// If-None-Match: http.ServeContent supports both, but sends errors as plain text.
func (f *file) serve(c *gin.Context) {
	header := c.Writer.Header()
	header.Set("Cache-Control", "no-cache")
	header.Set("Content-Security-Policy", contentSecurityPolicy)
	header.Set("X-Content-Type-Options", "nosniff")
	header.Set("Referrer-Policy", "no-referrer")
	if f.gzip != nil {
		header.Add("Vary", "Accept-Encoding")
	}
	compressed := f.gzip != nil && acceptsGzip(c.Request.Header)
	etag := `"` + f.etag + `"`
	if compressed {
		etag = `"` + f.etag + `-gzip"`
	}
	header.Set("ETag", etag)
	if etagMatches(c.Request.Header, etag) {
		c.Status(http.StatusNotModified)
		return
	}
	if !compressed {
		c.DataFromReader(http.StatusOK, f.size, f.contentType, f.reader(), nil)
		return
	}
	header.Set("Content-Encoding", "gzip")
	body := f.gzip()
	c.DataFromReader(http.StatusOK, int64(len(body)), f.contentType, bytes.NewReader(body), nil)
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
