package swagger

import (
	"bytes"
	"compress/gzip"
	"crypto/sha256"
	"embed"
	"encoding/hex"
	"fmt"
	"io"
	"io/fs"
	"path"
	"strings"
	"sync"

	swaggerfiles "github.com/swaggo/files/v2"
)

// A file is the content of one address.
type file struct {
	contentType string
	etag        string      // without its quotes
	content     io.ReaderAt // of the binary itself, where a copy would be 1.6 MB of heap
	size        int64
	gzip        func() []byte // compresses at the first call; nil for an image
}

// newFile returns a file of a content in memory, of which no read fails.
func newFile(name string, content io.ReaderAt, size int64) *file {
	types := map[string]string{
		".html": "text/html; charset=utf-8",
		".css":  "text/css; charset=utf-8",
		".js":   "text/javascript; charset=utf-8",
		".json": "application/json",
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

func (f *file) compress() []byte {
	var out bytes.Buffer
	w := gzip.NewWriter(&out)
	_, _ = io.Copy(w, f.reader())
	_ = w.Close()
	return out.Bytes()
}

//go:embed page
var page embed.FS

// loadFiles returns the files of the UI by their address under swagger/: the page
// and the parts of Swagger UI that it refers to.
func loadFiles() (map[string]*file, error) {
	own, err := fs.Sub(page, "page")
	if err != nil {
		return nil, err
	}
	files := map[string]*file{}
	for name, folder := range map[string]fs.FS{
		"index.html":             own,
		"index.css":              own,
		"swagger-initializer.js": own,
		"swagger-ui.css":         swaggerfiles.FS,
		"swagger-ui-bundle.js":   swaggerfiles.FS,
		"favicon-16x16.png":      swaggerfiles.FS,
		"favicon-32x32.png":      swaggerfiles.FS,
	} {
		if files["/"+name], err = openFile(folder, name); err != nil {
			return nil, err
		}
	}
	return files, nil
}

func openFile(folder fs.FS, name string) (*file, error) {
	f, err := folder.Open(name)
	if err != nil {
		return nil, err
	}
	info, err := f.Stat()
	if err != nil {
		return nil, err
	}
	content, ok := f.(io.ReaderAt)
	if !ok {
		return nil, fmt.Errorf("%s is not embedded", name)
	}
	return newFile(name, content, info.Size()), nil
}
