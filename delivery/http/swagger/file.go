package swagger

import (
	"bytes"
	"compress/gzip"
	"crypto/sha256"
	"fmt"
	"io"
	"net/http"
	"path"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/gin-gonic/gin"
)

// contentSecurityPolicy allows the resources of Swagger UI 5, from the same origin only.
const contentSecurityPolicy = "default-src 'none'; script-src 'self'; style-src 'self' 'unsafe-inline'; img-src 'self' data:; " +
	"connect-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'"

// content is the content of a file. It is in memory, so reading it cannot fail.
type content interface {
	io.ReadSeeker
	io.ReaderAt
}

// A file is a file of the documentation, served under one path.
type file struct {
	name, etag string
	content    io.ReaderAt // for embedded files: in the binary, not copied to the heap
	size       int64
	gzip       func() []byte // the compressed content, compressed by the first call
}

func newFile(name string, content content) *file {
	sum := sha256.New()
	size, _ := io.Copy(sum, content)
	f := &file{name: path.Base(name), etag: fmt.Sprintf("%x", sum.Sum(nil)), content: content, size: size}
	f.gzip = sync.OnceValue(func() []byte {
		var out bytes.Buffer
		w, _ := gzip.NewWriterLevel(&out, gzip.BestCompression) // returns no error for this level
		_, _ = io.Copy(w, f.reader())
		_ = w.Close()
		return out.Bytes()
	})
	return f
}

func (f *file) reader() io.ReadSeeker { return io.NewSectionReader(f.content, 0, f.size) }

// serve sends the file. It sends it compressed if the client prefers gzip.
func (f *file) serve(c *gin.Context) {
	c.Header("Cache-Control", "no-cache")
	c.Header("Content-Security-Policy", contentSecurityPolicy)
	c.Header("X-Content-Type-Options", "nosniff")
	c.Header("Referrer-Policy", "no-referrer")
	if path.Ext(f.name) == ".yaml" {
		c.Header("Content-Type", "application/yaml") // RFC 9512; net/http does not know the extension
	}
	etag, reader := f.etag, f.reader()
	if path.Ext(f.name) != ".png" { // the format is already compressed
		c.Writer.Header().Add("Vary", "Accept-Encoding")
		if prefersGzip(c.Request.Header.Values("Accept-Encoding")) {
			compressed := f.gzip()
			c.Header("Content-Encoding", "gzip")
			if c.GetHeader("If-Match") == "" { // with If-Match, net/http may send 412 without the content
				c.Header("Content-Length", strconv.Itoa(len(compressed)))
			}
			etag, reader = etag+"-gzip", bytes.NewReader(compressed)
		}
	}
	c.Header("ETag", `"`+etag+`"`)
	http.ServeContent(c.Writer, c.Request, f.name, time.Time{}, reader)
}

// prefersGzip reports whether Accept-Encoding accepts gzip, with at least the weight of identity (RFC 9110, section
// 12.5.3).
func prefersGzip(accepted []string) bool {
	weights := map[string]float64{}
	for element := range strings.SplitSeq(strings.ToLower(strings.Join(accepted, ",")), ",") {
		coding, parameter, _ := strings.Cut(element, ";")
		weight, err := strconv.ParseFloat(strings.TrimPrefix(strings.TrimSpace(parameter), "q="), 64)
		if err != nil {
			weight = 1 // the default
		}
		weights[strings.TrimSpace(coding)] = weight
	}
	gzip, named := weights["gzip"]
	if !named {
		gzip = weights["*"]
	}
	return gzip > 0 && gzip >= weights["identity"]
}
