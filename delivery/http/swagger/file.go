package swagger

import (
	"bytes"
	"compress/gzip"
	"crypto/sha256"
	"encoding/hex"
	"io"
	"path"
	"strings"
	"sync"

	"github.com/gin-gonic/gin"
)

// A file is a file that is served under one path.
type file struct {
	contentType string
	etag        string      // without quotes
	content     io.ReaderAt // embedded in the binary and not copied to the heap
	size        int64
	gzip        func() []byte // compresses in the first call; nil for an image
}

// newFile returns a file. Its content must be in memory, so that reading it cannot fail.
func newFile(name string, content io.ReaderAt, size int64) *file {
	types := map[string]string{
		".html": "text/html; charset=utf-8",
		".css":  "text/css; charset=utf-8",
		".js":   "text/javascript; charset=utf-8",
		".png":  "image/png",
	}
	f := &file{contentType: types[path.Ext(name)], content: content, size: size}
	sum := sha256.New()
	_, _ = io.Copy(sum, f.reader())
	f.etag = hex.EncodeToString(sum.Sum(nil))
	if !strings.HasPrefix(f.contentType, "image/") {
		f.gzip = sync.OnceValue(f.compress)
	}
	return f
}

func (f *file) reader() io.Reader { return io.NewSectionReader(f.content, 0, f.size) }

// serve sends the file.
func (f *file) serve(c *gin.Context) {
	plain := body{f.size, f}
	if f.gzip == nil {
		serve(c, f.contentType, f.etag, plain, nil)
		return
	}
	serve(c, f.contentType, f.etag, plain, func() body { return inMemory(f.gzip()) })
}

// WriteTo implements io.WriterTo with a small buffer, because a file is not in memory that
// can be written.
func (f *file) WriteTo(w io.Writer) (int64, error) {
	return io.CopyBuffer(w, f.reader(), make([]byte, 4<<10))
}

func (f *file) compress() []byte {
	var out bytes.Buffer
	w := gzip.NewWriter(&out)
	_, _ = io.Copy(w, f.reader())
	_ = w.Close()
	return out.Bytes()
}
