package swagger

import (
	"net/http"
	"strings"

	"github.com/gin-gonic/gin"
	ginswagger "github.com/swaggo/gin-swagger"
	"golang.org/x/net/webdav"
)

// additions replaces parts of the page of gin-swagger, which has no options for them: it adds a viewport, a text
// while the page loads, and a text for browsers without JavaScript. It removes the script of the standalone preset,
// which only the top bar of Swagger UI needs.
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

// page returns the page of gin-swagger with the additions.
func page(title string) string {
	w := &pageWriter{}
	request := &http.Request{Method: http.MethodGet, RequestURI: "/index.html"}
	ginswagger.CustomWrapHandler(&ginswagger.Config{Title: title}, &webdav.Handler{})(&gin.Context{Writer: w, Request: request})
	return additions.Replace(w.body.String())
}

// A pageWriter is a gin.ResponseWriter that keeps the page in memory.
type pageWriter struct {
	gin.ResponseWriter // nil: gin-swagger calls only the methods below
	body               strings.Builder
}

func (w *pageWriter) Header() http.Header { return http.Header{} }

func (w *pageWriter) Write(text []byte) (int, error) { return w.body.Write(text) }
