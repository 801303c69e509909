package swagger

import (
	"bytes"
	"crypto/sha256"
	"fmt"
	"io"
	"net/http"
	"path"
	"time"

	"github.com/gin-gonic/gin"
	swaggerfiles "github.com/swaggo/files/v2"
	ginswagger "github.com/swaggo/gin-swagger"
	"golang.org/x/net/webdav"
)

// A file is one address with its whole answer.
type file struct {
	contentType string
	etag        string
	content     io.ReaderAt // of the binary itself, where a copy would be 2 MB of heap
	size        int64
}

func newFile(name string, content io.ReaderAt, size int64) (file, error) {
	types := map[string]string{
		".html": "text/html; charset=utf-8",
		".css":  "text/css; charset=utf-8",
		".js":   "text/javascript; charset=utf-8",
		".json": "application/json",
		".png":  "image/png",
	}
	f := file{contentType: types[path.Ext(name)], content: content, size: size}
	sum := sha256.New()
	if _, err := io.Copy(sum, f.reader()); err != nil {
		return file{}, err
	}
	f.etag = fmt.Sprintf(`"%x"`, sum.Sum(nil))
	return f, nil
}

func newText(name string, content []byte) (file, error) {
	return newFile(name, bytes.NewReader(content), int64(len(content)))
}

// openFile is a file of Swagger UI.
func openFile(name string) (file, error) {
	f, err := swaggerfiles.FS.Open(name)
	if err != nil {
		return file{}, err
	}
	info, err := f.Stat()
	if err != nil {
		return file{}, err
	}
	content, ok := f.(io.ReaderAt)
	if !ok {
		return file{}, fmt.Errorf("swagger: %s is not embedded", name)
	}
	return newFile(name, content, info.Size())
}

func (f file) reader() *io.SectionReader { return io.NewSectionReader(f.content, 0, f.size) }

// contentSecurityPolicy admits what Swagger UI 5 needs and nothing from elsewhere.
const contentSecurityPolicy = "default-src 'none'; script-src 'self'; style-src 'self' 'unsafe-inline'; img-src 'self' data:; " +
	"connect-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'"

func (f file) serve(c *gin.Context) {
	c.Header("Content-Type", f.contentType)
	c.Header("ETag", f.etag)
	c.Header("Cache-Control", "no-cache")
	c.Header("Content-Security-Policy", contentSecurityPolicy)
	c.Header("X-Content-Type-Options", "nosniff")
	c.Header("Referrer-Policy", "no-referrer")
	// What cannot be met would be refused in plain text: a range may be ignored (RFC 9110,
	// section 14.2), and no condition but If-None-Match is of use to a reader.
	request := c.Request.Clone(c.Request.Context())
	request.Header.Del("Range")
	request.Header.Del("If-Match")
	http.ServeContent(c.Writer, request, "", time.Time{}, f.reader())
}

// loadFiles returns the files of the UI by their address under swagger/: the page
// of gin-swagger and the parts of Swagger UI that it refers to.
func loadFiles(title string) (map[string]file, error) {
	files := map[string]file{}
	var err error
	for _, name := range []string{
		"swagger-ui.css", "swagger-ui-bundle.js", "swagger-ui-standalone-preset.js", "favicon-16x16.png", "favicon-32x32.png",
	} {
		if files["/"+name], err = openFile(name); err != nil {
			return nil, err
		}
	}
	page := ginswagger.CustomWrapHandler(&ginswagger.Config{
		URL:                      "../openapi.json",
		Title:                    title,
		DocExpansion:             "list",
		DefaultModelsExpandDepth: 1,
		DeepLinking:              true,
		PersistAuthorization:     true,
	}, &webdav.Handler{})
	for _, name := range []string{"index.html", "index.css", "swagger-initializer.js"} {
		if files["/"+name], err = newText(name, render(page, name)); err != nil {
			return nil, err
		}
	}
	return files, nil
}

// render takes down what gin-swagger writes for a name. It is asked here, once
// and with clean names, and never by clients: it takes its prefix from the first
// address that it sees and would keep an odd one until the process ends.
func render(page gin.HandlerFunc, name string) []byte {
	w := &recorder{header: http.Header{}}
	page(&gin.Context{Request: &http.Request{Method: http.MethodGet, RequestURI: "/" + name}, Writer: w})
	return w.body.Bytes()
}

// recorder is as much of a gin.ResponseWriter as gin-swagger's page uses.
type recorder struct {
	gin.ResponseWriter
	header http.Header
	body   bytes.Buffer
}

func (r *recorder) Header() http.Header { return r.header }

func (r *recorder) Write(p []byte) (int, error) { return r.body.Write(p) }
