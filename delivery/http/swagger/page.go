package swagger

import (
	"bytes"
	"embed"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net/http"
	"strings"

	"github.com/gin-gonic/gin"
	swaggerfiles "github.com/swaggo/files/v2"
	ginswagger "github.com/swaggo/gin-swagger"
	"golang.org/x/net/webdav"
)

//go:embed page
var pageFS embed.FS

// loadFiles returns the files of the UI by their path under swagger/: the page of
// gin-swagger, our additions, and the files of Swagger UI to which it refers.
func loadFiles() (map[string]*file, error) {
	files := map[string]*file{}
	for _, name := range []string{
		"swagger-ui.css", "swagger-ui-bundle.js", "swagger-ui-standalone-preset.js", "favicon-16x16.png", "favicon-32x32.png",
	} {
		if err := addFile(files, swaggerfiles.FS, name, name); err != nil {
			return nil, err
		}
	}
	for _, name := range []string{"petstore.js", "petstore.css"} {
		if err := addFile(files, pageFS, "page/"+name, name); err != nil {
			return nil, err
		}
	}
	handler := ginswagger.CustomWrapHandler(&ginswagger.Config{
		URL:                      "../openapi.json",
		Title:                    "API documentation",
		DocExpansion:             "list",
		DefaultModelsExpandDepth: 1,
		DeepLinking:              true,
		PersistAuthorization:     true,
	}, &webdav.Handler{})
	for _, name := range []string{"index.html", "index.css", "swagger-initializer.js"} {
		content := render(handler, name)
		if name == "index.html" {
			var err error
			if content, err = insertAdditions(content); err != nil {
				return nil, err
			}
		}
		files["/"+name] = newFile(name, bytes.NewReader(content), int64(len(content)))
	}
	return files, nil
}

// additions are inserted in the page of gin-swagger, each before the text that is its key.
// gin-swagger has no option for them.
var additions = map[string]string{
	"</head>": `<meta name="viewport" content="width=device-width, initial-scale=1">
  <link rel="stylesheet" type="text/css" href="petstore.css">
`,
	`<script src="./swagger-initializer.js">`: `<script src="./petstore.js"> </script>
`,
}

// insertAdditions returns the page with the additions.
func insertAdditions(page []byte) ([]byte, error) {
	html := string(page)
	for before, addition := range additions {
		if strings.Count(html, before) != 1 {
			return nil, errors.New("the page of gin-swagger must have exactly one " + before)
		}
		html = strings.Replace(html, before, addition+before, 1)
	}
	return []byte(html), nil
}

// render returns the response of gin-swagger for a file. It is not called for requests,
// because gin-swagger takes its prefix from the first path that it serves.
func render(handler gin.HandlerFunc, name string) []byte {
	w := &recorder{header: http.Header{}}
	handler(&gin.Context{Request: &http.Request{Method: http.MethodGet, RequestURI: "/" + name}, Writer: w})
	return w.body.Bytes()
}

// A recorder records a response. It implements the methods of gin.ResponseWriter that
// gin-swagger calls.
type recorder struct {
	gin.ResponseWriter
	header http.Header
	body   bytes.Buffer
}

func (r *recorder) Header() http.Header { return r.header }

func (r *recorder) Write(p []byte) (int, error) { return r.body.Write(p) }

// addFile adds an embedded file under a name.
func addFile(files map[string]*file, folder fs.FS, path, name string) error {
	f, err := folder.Open(path)
	if err != nil {
		return err
	}
	info, err := f.Stat()
	if err != nil {
		return err
	}
	content, ok := f.(io.ReaderAt)
	if !ok {
		return fmt.Errorf("%s is not embedded", path)
	}
	files["/"+name] = newFile(name, content, info.Size())
	return nil
}
