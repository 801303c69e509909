package swagger

import (
	"bytes"
	"net/http"
	"strings"
	"sync"

	"github.com/gin-gonic/gin"
	ginswagger "github.com/swaggo/gin-swagger"
	"golang.org/x/net/webdav"
)

// additions are what the page of gin-swagger has instead of its own parts: it has no option for
// them. Without its bar Swagger UI does not need the preset.
var additions = strings.NewReplacer(
	`</title>`, `</title>
  <meta name="viewport" content="width=device-width, initial-scale=1">`,
	`<div id="swagger-ui"></div>`, `<main id="swagger-ui">
  <p class="loading">Loading the documentation …</p>
  <noscript>This page needs JavaScript. Without it, read the OpenAPI document as <a href="../openapi.yaml">YAML</a> or <a href="../openapi.json">JSON</a>.</noscript>
</main>`,
	`<script src="./swagger-ui-standalone-preset.js"> </script>`, ``,
)

// A page is the page of gin-swagger, with our additions.
type page struct {
	handler gin.HandlerFunc
	once    sync.Once
	file    *file
}

func newPage(title string) *page {
	return &page{handler: ginswagger.CustomWrapHandler(&ginswagger.Config{Title: title}, &webdav.Handler{})}
}

// serve sends the page, which the first request renders.
func (p *page) serve(c *gin.Context) {
	p.once.Do(func() {
		w, r := &pageWriter{ResponseWriter: c.Writer}, c.Request
		c.Writer, c.Request = w, &http.Request{Method: http.MethodGet, RequestURI: "/index.html"} // without a query, in which gin-swagger finds names of files, too
		p.handler(c)
		c.Writer, c.Request = w.ResponseWriter, r
		p.file = newFile("index.html", strings.NewReader(additions.Replace(w.body.String())))
	})
	p.file.serve(c)
}

// A pageWriter keeps the page that gin-swagger writes.
type pageWriter struct {
	gin.ResponseWriter
	body bytes.Buffer
}

func (w *pageWriter) Write(text []byte) (int, error) { return w.body.Write(text) }
