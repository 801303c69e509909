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
var own embed.FS

// loadFiles returns the files of the UI by their address under swagger/: the page of
// gin-swagger, what we add to it, and the parts of Swagger UI that it refers to.
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
		if err := addFile(files, own, "page/"+name, name); err != nil {
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
			if content, err = extend(content); err != nil {
				return nil, err
			}
		}
		files["/"+name] = newFile(name, bytes.NewReader(content), int64(len(content)))
	}
	return files, nil
}

// additions are inserted in gin-swagger's page, each before the text that it is listed
// under: it has no option for them.
var additions = map[string]string{
	"</head>": `<meta name="viewport" content="width=device-width, initial-scale=1">
  <link rel="stylesheet" type="text/css" href="petstore.css">
`,
	`<script src="./swagger-initializer.js">`: `<script src="./petstore.js"> </script>
`,
}

func extend(page []byte) ([]byte, error) {
	html := string(page)
	for before, addition := range additions {
		if strings.Count(html, before) != 1 {
			return nil, errors.New("the page of gin-swagger has not exactly one " + before)
		}
		html = strings.Replace(html, before, addition+before, 1)
	}
	return []byte(html), nil
}

// render returns what gin-swagger writes for a name. It is called here, once and with
// clean names, and never for a request: gin-swagger takes its prefix from the first address
// that it sees.
func render(handler gin.HandlerFunc, name string) []byte {
	w := &recorder{header: http.Header{}}
	handler(&gin.Context{Request: &http.Request{Method: http.MethodGet, RequestURI: "/" + name}, Writer: w})
	return w.body.Bytes()
}

// A recorder is as much of a gin.ResponseWriter as gin-swagger uses.
type recorder struct {
	gin.ResponseWriter
	header http.Header
	body   bytes.Buffer
}

func (r *recorder) Header() http.Header { return r.header }

func (r *recorder) Write(p []byte) (int, error) { return r.body.Write(p) }

// addFile adds an embedded file under an address.
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
