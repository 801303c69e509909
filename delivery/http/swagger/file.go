package swagger

import (
	"crypto/sha256"
	"fmt"
	"io"
	"net/http"
	"path"
	"time"

	"github.com/gin-gonic/gin"
)

// contentSecurityPolicy allows the resources of Swagger UI 5, from the same origin only.
const contentSecurityPolicy = "default-src 'none'; script-src 'self'; style-src 'self' 'unsafe-inline'; img-src 'self' data:; " +
	"connect-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'"

// content is the content of a file. It is in memory, so reading it cannot fail.
type content interface {
	io.Reader
	io.ReaderAt
}

// A file is a file of the documentation, served under one path.
type file struct {
	name, etag string
	content    *io.SectionReader // for embedded files: in the binary, not copied to the heap
}

func newFile(name string, content content) *file {
	sum := sha256.New()
	size, _ := io.Copy(sum, content)
	return &file{path.Base(name), fmt.Sprintf(`"%x"`, sum.Sum(nil)), io.NewSectionReader(content, 0, size)}
}

// serve sends the file. It does not compress it: a client gets the 1.7 MB of the page once, and afterwards 304.
func (f *file) serve(c *gin.Context) {
	c.Header("Cache-Control", "no-cache")
	c.Header("Content-Security-Policy", contentSecurityPolicy)
	c.Header("X-Content-Type-Options", "nosniff")
	c.Header("Referrer-Policy", "no-referrer")
	c.Header("ETag", f.etag)
	if path.Ext(f.name) == ".yaml" {
		c.Header("Content-Type", "application/yaml") // RFC 9512; net/http does not know the extension
	}
	http.ServeContent(c.Writer, c.Request, f.name, time.Time{}, io.NewSectionReader(f.content, 0, f.content.Size()))
}
