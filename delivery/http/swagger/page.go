package swagger

import (
	"net/http"
	"strings"

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
  <noscript>This page needs JavaScript. Without it, read the OpenAPI document as
  <a href="../openapi.yaml">YAML</a> or <a href="../openapi.json">JSON</a>.</noscript>
</main>`,
	`<script src="./swagger-ui-standalone-preset.js"> </script>`, ``,
)

// page returns the page of gin-swagger with our additions.
func page(title string) string {
	w := &pageWriter{}
	request := &http.Request{Method: http.MethodGet, RequestURI: "/index.html"}
	ginswagger.CustomWrapHandler(&ginswagger.Config{Title: title}, &webdav.Handler{})(&gin.Context{Writer: w, Request: request})
	return additions.Replace(w.body.String())
}

// A pageWriter keeps the page that gin-swagger writes.
type pageWriter struct {
	gin.ResponseWriter // nil: gin-swagger calls only the methods below
	body               strings.Builder
}

func (w *pageWriter) Header() http.Header { return http.Header{} }

func (w *pageWriter) Write(text []byte) (int, error) { return w.body.Write(text) }
